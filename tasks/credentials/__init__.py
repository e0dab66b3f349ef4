"""Where `callsheet login` keeps what it was given. Knows no service and no environment."""

from tasks.credentials.claims import PendingClaim, drop_claim, keep_claim, read_claim
from tasks.credentials.keeping import Place, choose_place, forget, keep, key_of
from tasks.credentials.login import Login, fingerprint
from tasks.credentials.private_file import write_private
from tasks.credentials.register import Register, file_of, profile_name, read_register

__all__ = [
    "Login",
    "PendingClaim",
    "Place",
    "Register",
    "choose_place",
    "drop_claim",
    "file_of",
    "fingerprint",
    "forget",
    "keep",
    "keep_claim",
    "key_of",
    "profile_name",
    "read_claim",
    "read_register",
    "write_private",
]
