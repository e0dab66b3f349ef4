"""What went wrong with a bucket, in a sentence with a remedy. Knows every code we act on."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit


class S3Trouble(Exception):
    """One call to a bucket that did not succeed. Holds nothing that boto3 said but the code."""

    def __init__(self, code: str, sentence: str, remedy: str, *, permanent: bool) -> None:
        super().__init__(f"{sentence}; {remedy}")
        self.code = code
        self.sentence = sentence
        self.remedy = remedy
        self.permanent = permanent


_KEYS = "see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or ~/.aws"
_REGION = "set AWS_REGION to the bucket's region"
_SIGN_IN = "sign in again or renew the keys, then run the same command again"
_RIGHTS = "allow s3:PutObject, s3:GetObject and s3:ListBucket there"
_AGAIN = "run the same command again later"

#: Code -> sentence, remedy. Everything here stays true however often it is tried.
_PERMANENT = {
    "NoSuchBucket": ("the bucket {bucket} does not exist", "make it, or name another one"),
    "InvalidBucketName": ("{bucket} is not a name a bucket can have", "name another one"),
    "AccessDenied": ("access to the bucket {bucket} is denied", _RIGHTS),
    "AllAccessDisabled": ("access to the bucket {bucket} is switched off", "name another one"),
    "InvalidAccessKeyId": ("the store does not know the access key", _KEYS),
    "SignatureDoesNotMatch": ("the store does not accept the secret key", _KEYS),
    "ExpiredToken": ("the store's credentials have expired", _SIGN_IN),
    "PermanentRedirect": ("the bucket {bucket} is in another region", _REGION),
    "RequestTimeTooSkewed": ("this machine's clock is wrong", "set the clock"),
    "EntityTooLarge": ("the store does not take files this large", "use another store"),
    "QuotaExceeded": ("the store is full or over its quota", "make room there"),
    "NoCredentials": ("there are no credentials for the store", _KEYS),
    "NoRegion": ("no region is set for the store", _REGION),
    "BadEndpoint": ("the store's endpoint is not an address", "see AWS_ENDPOINT_URL_S3"),
    "BadProfile": ("the AWS profile does not exist", "see AWS_PROFILE and ~/.aws/config"),
    "PreconditionFailed": ("the name is taken in the bucket {bucket}", "use another name"),
    "404": ("the bucket {bucket} does not have it", "look at the bucket's contents"),
}

_SAME = {
    "403": "AccessDenied",
    "Forbidden": "AccessDenied",
    "AccountProblem": "AllAccessDisabled",
    "InvalidToken": "ExpiredToken",
    "ExpiredTokenException": "ExpiredToken",
    "RequestExpired": "ExpiredToken",
    "TokenRefreshRequired": "ExpiredToken",
    "301": "PermanentRedirect",
    "AuthorizationHeaderMalformed": "PermanentRedirect",
    "IllegalLocationConstraintException": "PermanentRedirect",
    "InsufficientStorage": "QuotaExceeded",
    "XMinioStorageFull": "QuotaExceeded",
    "412": "PreconditionFailed",
    "NotFound": "404",
    "NoSuchKey": "404",
    # botocore's own, by the name of the class.
    "NoCredentialsError": "NoCredentials",
    "PartialCredentialsError": "NoCredentials",
    "CredentialRetrievalError": "ExpiredToken",
    "TokenRetrievalError": "ExpiredToken",
    "SSOTokenLoadError": "ExpiredToken",
    "UnauthorizedSSOTokenError": "ExpiredToken",
    "LoginRefreshRequired": "ExpiredToken",
    "NoRegionError": "NoRegion",
    "InvalidRegionError": "NoRegion",
    "ValueError": "BadEndpoint",
    "ProfileNotFound": "BadProfile",
}

#: Refusals that another attempt may turn into success, though their status says 4xx.
_PASSING = {
    "BadDigest", "ConditionalRequestConflict", "IncompleteBody", "OperationAborted",
    "RequestTimeout", "SlowDown", "Throttling", "ThrottlingException", "TooManyRequests",
    "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch",
}  # fmt: skip


def trouble_of(error: Exception, bucket: str) -> S3Trouble:
    """Return what an error of boto3 means for people, without its own words."""
    details: dict[str, Any] = getattr(error, "response", None) or {}
    status = int(details.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    name = str(details.get("Error", {}).get("Code", "")) or type(error).__name__
    code = _SAME.get(name, name)
    if code in _PERMANENT:
        sentence, remedy = _PERMANENT[code]
        return S3Trouble(code, sentence.format(bucket=bucket), remedy, permanent=True)
    if not status:
        return _unanswered(error, code)
    passing = code in _PASSING or status in (409, 429) or (status >= 500 and status != 501)
    sentence = f"the store answered {status} ({code[:60]})"
    return S3Trouble(code, sentence, _AGAIN, permanent=not passing)


def _unanswered(error: Exception, code: str) -> S3Trouble:
    given = str((getattr(error, "kwargs", None) or {}).get("endpoint_url") or "")
    host = urlsplit(given).hostname
    where = f"the store at {host}" if host else "the store"
    final = code in ("ParamValidationError", "SSLError", "InvalidEndpointConfigurationError")
    sentence = f"{where} cannot be reached ({code})"
    return S3Trouble(code, sentence, "see AWS_ENDPOINT_URL_S3 and the network", permanent=final)
