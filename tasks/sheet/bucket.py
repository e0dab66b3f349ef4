"""Sheets in S3. Endpoint, region and credentials are boto3's own business."""

from __future__ import annotations

from pathlib import PurePosixPath

from callsheet.tasks.sheet.fetched import Fetched, refused, too_large
from callsheet.tasks.sheet.limits import MAX_BYTES

_REASONS = {
    "NoSuchKey": "is not there; is the key right?",
    "NoSuchBucket": "is in a bucket that is not there",
    "AccessDenied": "may not be read with these credentials",
    "403": "may not be read with these credentials",
    "404": "is not there",
    "InvalidAccessKeyId": "may not be read: the access key is unknown",
    "SignatureDoesNotMatch": "may not be read: the secret key is wrong",
}


def fetch_bucket(address: str) -> Fetched:
    """Return a sheet from `s3://bucket/key`."""
    # Only sheets in a bucket need boto3, which takes long to load.
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    bucket, _, key = address.partition("://")[2].partition("/")
    if not bucket or not key or key.endswith("/"):
        raise refused(address, "is not a sheet; write s3://bucket/path/to/sheet.csv")
    try:
        config = Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 3})
        answer = boto3.client("s3", config=config).get_object(Bucket=bucket, Key=key)
        if answer["ContentLength"] > MAX_BYTES:
            raise too_large(address)
        content = answer["Body"].read(MAX_BYTES + 1)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", "unknown"))
        raise refused(address, _REASONS.get(code, f"was refused by the store: {code}")) from None
    except NoCredentialsError:
        raise refused(address, "cannot be read: no S3 credentials were found") from None
    except (BotoCoreError, ValueError, OSError) as error:
        raise refused(address, f"cannot be reached: {error}") from None
    return Fetched(content=content, name=PurePosixPath(key).name)
