"""The safeguards, each with the words that are it, and what stands there without it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """A safeguard, the words that are it, what stands there without it, and who should notice."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]


MODEL = ("tests/model/first_story.py",)
STORIES = ("tests/model/test_stories.py",)
DECIDE = ("tests/unit/engine/test_decide.py",)
TAKES = ("tests/unit/ledger/test_takes.py",)
CALLS = ("tests/unit/ledger/test_paid_calls.py",)
FOLDER = ("tests/unit/store/test_folder.py",)
BUCKET = ("tests/contract/test_store_s3.py", "tests/contract/test_store_s3_trouble.py")
NIGHTS = ("tests/unit/ledger/test_nights.py",)
PRODUCTIONS = ("tests/unit/ledger/test_productions.py",)
REDACT = ("tests/unit/service/test_redact.py",)
SECRETS = "tests/guards/test_secrets_everywhere.py"

MUTATIONS = (
    Mutation(
        "an intent is committed before its request leaves",
        "tasks/engine/lanes/submit.py",
        "take, closed_until = await at.ledger.write(opening)",
        "take, closed_until = await at.ledger.read(opening)",
        MODEL,
    ),
    Mutation(
        "a create heeds what another process was told",
        "tasks/engine/lanes/submit.py",
        "heed(at.service, closed_until)",
        "pass",
        ("tests/unit/engine/test_shared_pace.py",),
    ),
    Mutation(
        "another attempt goes under the same key",
        "tasks/engine/lanes/submit.py",
        "created = await at.service.make(row.operation, row.take.body, key=row.take.key)",
        "import uuid\n\n"
        "        key = f'cs1_{uuid.uuid4().hex}'\n"
        "        body = row.take.body.replace(row.take.key.encode(), key.encode())\n"
        "        created = await at.service.make(row.operation, body, key=key)",
        MODEL,
    ),
    Mutation(
        "what another process has settled is not sent again",
        "tasks/engine/lanes/submit.py",
        "if _stands(found) != _stands(row):",
        "if False:",
        STORIES,
    ),
    Mutation(
        "past the horizon only a record with our own key is ours",
        "tasks/engine/lanes/submit.py",
        'if raw.get("idempotency_key") == row.take.key:',
        "if raw:",
        STORIES,
    ),
    Mutation(
        "a row that was edited since it was approved is not paid for",
        "tasks/ledger/takes.py",
        'if tuple(found) != ("approved", row.digest, row.nth):',
        'if found.state != "approved":',
        TAKES,
    ),
    Mutation(
        "a move is guarded by the state it starts from",
        "tasks/ledger/moves.py",
        'rows.c.state == bindparam("old"))',
        '(rows.c.state == bindparam("old")) | (rows.c.id > 0))',
        ("tests/unit/ledger/test_move.py",),
    ),
    Mutation(
        "what is heard of a take moves no row that has another one",
        "tasks/ledger/moves.py",
        'rows.c.take_id == bindparam("the_take"))',
        '(rows.c.take_id == bindparam("the_take")) | (rows.c.id > 0))',
        ("tests/unit/ledger/test_retake.py",),
    ),
    Mutation(
        "the budget is checked as the money is set aside",
        "tasks/ledger/sums.py",
        "campaigns.c.reserved + campaigns.c.charged + _MORE <= campaigns.c.budget,",
        "campaigns.c.reserved + campaigns.c.charged + _MORE >= 0,",
        TAKES,
    ),
    Mutation(
        "a change finds everything written that its commit has left to the end",
        "tasks/ledger/gathering.py",
        "                gathering.write(connection)\n            results",
        "                pass\n            results",
        ("tests/unit/ledger/test_group_commit.py",),
    ),
    Mutation(
        "what a failed try has learned of a budget is forgotten",
        "tasks/ledger/accounts.py",
        "on_rollback(connection, partial(terms.full.pop, this))",
        "on_rollback(connection, partial(terms.full.get, this))",
        ("tests/unit/ledger/test_group_commit.py",),
    ),
    Mutation(
        "a bucket's object is written only where there is none",
        "tasks/store/s3_objects.py",
        "if free and self.abilities.conditional:",
        "if not free and self.abilities.conditional:",
        BUCKET,
    ),
    Mutation(
        "another film of the same name is left alone",
        "tasks/store/folder.py",
        "if there is not None and there.sha256 != sha256:",
        "if False:",
        FOLDER,
    ),
    Mutation(
        "what a bucket holds is compared with what was sent",
        "tasks/store/s3_objects.py",
        "if there is None or (there.bytes, there.sha256) != (wanted.bytes, wanted.sha256):",
        "if there is None:",
        BUCKET,
    ),
    Mutation(
        "what a folder holds is compared with what was downloaded",
        "tasks/store/folder.py",
        "if written.sha256 != sha256:",
        "if False:",
        FOLDER,
    ),
    Mutation(
        "the pictures of the film are decoded, to its end",
        "tasks/store/film.py",
        "        if packet.size and packet.is_keyframe:",
        "        if packet.size and packet.is_keyframe and first is None:",
        ("tests/unit/store/test_film.py",),
    ),
    Mutation(
        "every picture of the film is counted through",
        "tasks/store/film.py",
        "    if at != size:",
        "    if False:",
        ("tests/unit/store/test_film.py",),
    ),
    Mutation(
        "no picture of the film has a hole",
        "tasks/store/film.py",
        "if has_zeros and",
        "if False and",
        ("tests/unit/store/test_film.py",),
    ),
    Mutation(
        "no request leaves before Retry-After",
        "tasks/service/gate.py",
        "if left <= 0:",
        "if True:",
        ("tests/unit/service/test_gate.py",),
    ),
    Mutation(
        "registered secrets are taken out of every text",
        "tasks/redact.py",
        'text = text.replace(value, "***")',
        "pass",
        REDACT,
    ),
    Mutation(
        "what looks like a secret is taken out of every text",
        "tasks/redact.py",
        "text = pattern.sub(instead, text)",
        "pass",
        REDACT,
    ),
    Mutation(
        "what a service says is redacted before it is in the ledger",
        "tasks/service/shapes.py",
        "return next((redact(word) for word in found), None)",
        "return next(found, None)",
        (f"{SECRETS}::test_what_a_service_repeats_is_not_repeated",),
    ),
    Mutation(
        "no field of a line of the log holds a secret",
        "tasks/log_lines.py",
        "return json.dumps(redacted(line), ensure_ascii=False)",
        "return json.dumps(line, ensure_ascii=False)",
        ("tests/unit/test_log_lines.py",),
    ),
    Mutation(
        "no span holds a secret",
        "tasks/traces.py",
        "found[name] = redact(str(value))",
        "found[name] = str(value)",
        ("tests/unit/test_traces.py",),
    ),
    Mutation(
        "metrics of the board are for who has a token",
        "deployments/board/pages/metrics.py",
        "if not board.settings.metrics_open:",
        "if False:",
        ("tests/board/test_metrics.py",),
    ),
    Mutation(
        "Prefect's logs are redacted",
        "flows/prefect_logs.py",
        "install(handler for logger in loggers for handler in logger.handlers)",
        "install(())",
        (f"{SECRETS}::test_prefects_own_logs_are_redacted_whoever_writes_them",),
    ),
    Mutation(
        "a flow run that may not spend approves nothing",
        "flows/consent.py",
        '        if self._approve == "no":',
        "        if False:",
        ("tests/unit/test_flows.py",),
    ),
    Mutation(
        "an answer on Prefect's page is for the plan that was shown",
        "flows/consent.py",
        'key = f"{QUESTION}{_digest(plan)}"',
        'key = f"{QUESTION}any"',
        ("tests/pipeline/test_prefect_served.py",),
    ),
    Mutation(
        "a flow run that is begun anew approves nothing more",
        "tasks/aftercare/begun.py",
        "    if has_acted(connection, act=ACT, by=by, campaign=campaign.name):",
        "    if False:",
        ("tests/unit/aftercare/test_begun.py",),
    ),
    Mutation(
        "of two plans that are approved at once one stands",
        "tasks/aftercare/approval.py",
        "    hold_plans(connection, plan.campaign)\n",
        "",
        ("tests/unit/ledger/test_board_plans.py",),
    ),
    Mutation(
        "an amount covers no price that nobody can read",
        "tasks/campaign/quote.py",
        "at_most is not None and not plan.unpriced",
        "at_most is not None",
        ("tests/unit/campaign/test_quote.py",),
    ),
    Mutation(
        "a row that waits is approved at the price that was shown",
        "tasks/aftercare/waiting.py",
        " and row.quoted == prices[row.row]",
        "",
        ("tests/unit/aftercare/test_waiting.py",),
    ),
    Mutation(
        "what is cancelled before it began is not approved any more",
        "tasks/aftercare/rest.py",
        'if row.state == "approved" and row.row in own',
        "if False",
        ("tests/unit/aftercare/test_rest.py",),
    ),
    Mutation(
        "a video that is ours already is not adopted again",
        "tasks/ledger/paid_calls.py",
        "return set(connection.scalars(seen)) | videos_ours(connection)",
        "return set(connection.scalars(seen))",
        CALLS,
    ),
    Mutation(
        "one call without a key is open at a time",
        "tasks/ledger/migrations/versions/m0002_calls_without_a_key.py",
        "unique=True",
        "unique=False",
        CALLS,
    ),
    Mutation(
        "a 402 after a lost answer releases nothing",
        "tasks/engine/policy/creates.py",
        "    if memory.doubt:\n        # An answer to this take",
        "    if False:\n        # An answer to this take",
        DECIDE,
    ),
    Mutation(
        "past the horizon nothing is sent again",
        "tasks/engine/policy/decision.py",
        "young = now - row.take.intended_at < last",
        "young = True",
        DECIDE,
    ),
    Mutation(
        "a delivery without a signature of ours is no hint",
        "deployments/receiver/signature.py",
        "if hmac.compare_digest(given, wanted) and signer is None:",
        "if signer is None:",
        ("tests/receiver",),
    ),
    Mutation(
        "a body that was heard is not heard again under another id",
        "tasks/ledger/hints.py",
        "if connection.execute(select(hints.c.id).where(same)).first() is not None:",
        "if False:",
        ("tests/unit/ledger/test_hints.py", "tests/receiver"),
    ),
    Mutation(
        "a call without a key is not sent again by the engine",
        "tasks/engine/policy/decision.py",
        'case "submitting" if row.take is not None and not row.take.keyed:',
        'case "never" if row.take is not None and not row.take.keyed:',
        (*DECIDE, *MODEL),
    ),
    Mutation(
        "one run has a campaign at a time",
        "tasks/ledger/campaigns.py",
        "held = now.owner not in (None, owner) and (now.owner_until or 0) > at",
        "held = False",
        ("tests/unit/campaign/test_lease.py",),
    ),
    Mutation(
        "a call without a key is not sent again by the client",
        "tasks/service/outcome.py",
        "Outcome.LOST: (A, A, A, Q),",
        "Outcome.LOST: (A, A, A, A),",
        ("tests/unit/service/test_sent_once.py",),
    ),
    Mutation(
        "what costs something else than was shown is not approved",
        "tasks/ledger/quotes.py",
        '        rows.c.quoted.is_not_distinct_from(bindparam("price", type_=BigInteger)),\n',
        "        rows.c.quoted.is_not_distinct_from("
        'bindparam("price", type_=BigInteger)) | (rows.c.id > 0),\n',
        ("tests/unit/ledger/test_quotes.py",),
    ),
    Mutation(
        "a finished campaign that another process holds is left to it",
        "tasks/campaign/settled.py",
        "if held or not same",
        "if not same",
        ("tests/pipeline/test_nothing_to_do.py",),
    ),
    Mutation(
        "a one-time login of the board is used once",
        "tasks/ledger/people.py",
        "if connection.execute(update(logins).where(this).values(used_at=at)).rowcount == 0:",
        "if connection.execute(update(logins).where(this).values(used_at=at)).rowcount < 0:",
        ("tests/unit/ledger/test_people.py",),
    ),
    Mutation(
        "a session of the board ends with its time",
        "tasks/ledger/sessions.py",
        "    this = (sessions.c.digest == digest) & (sessions.c.expires_at > at)\n",
        "    this = sessions.c.digest == digest\n",
        ("tests/unit/ledger/test_people.py",),
    ),
    Mutation(
        "a link of the board ends",
        "tasks/ledger/sessions.py",
        "return self.revoked_at is None and at < self.expires_at",
        "return True",
        ("tests/unit/ledger/test_people.py",),
    ),
    Mutation(
        "of the board's secrets the ledger has digests",
        "deployments/board/tokens.py",
        'return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()',
        "return token[:64]",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "no answer that is kept has a secret of the board in it",
        "deployments/board/repeats.py",
        'body = without_secrets(answer.body.decode("utf-8"))',
        'body = answer.body.decode("utf-8")',
        ("tests/board/test_repeats.py",),
    ),
    Mutation(
        "nobody gets an answer of the board that was another one's",
        "deployments/board/repeats.py",
        'whose = f"{person.id}\\n{person.name}\\n{key}"',
        "whose = key",
        ("tests/board/test_repeats.py",),
    ),
    Mutation(
        "a page elsewhere changes nothing on the board",
        "deployments/board/guard.py",
        "if visit.is_foreign or not (visit.is_vouched_for or visit.bearer or bare):",
        "if False:",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "the board answers to its own names",
        "deployments/board/guard.py",
        'if not is_own_host(visit.headers.get("host", ""), self._board):',
        "if False:",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "a proxy of the board is believed where there is one",
        "deployments/board/visit.py",
        "    if board.behind_proxy:\n        client",
        "    if True:\n        client",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "logins of the board cannot be tried out",
        "deployments/board/tries.py",
        "if count < self.most or",
        "if True or",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "a role of the board is what it is",
        "deployments/board/who.py",
        "if not person.may(role):",
        "if False:",
        ("tests/board/test_people.py",),
    ),
    Mutation(
        "a link of the board opens one campaign",
        "deployments/board/who.py",
        'if request.path_params.get("campaign") != found.guest.campaign:',
        "if False:",
        ("tests/board/test_links.py",),
    ),
    Mutation(
        "a link of the board gives the rights it has",
        "deployments/board/who.py",
        "if right not in found.guest.rights:",
        "if False:",
        ("tests/board/test_links.py",),
    ),
    Mutation(
        "a login of the board leads nobody away",
        "deployments/board/pages/login.py",
        'return address if plain and clean and not parts.netloc and not parts.scheme else "/"',
        "return address",
        ("tests/board/test_attacks.py",),
    ),
    Mutation(
        "a night approves no more than it may, over all its sweeps",
        "tasks/ledger/nights.py",
        "_held(night_id, place).where(within)",
        "_held(night_id, place)",
        NIGHTS,
    ),
    Mutation(
        "a sheet has no more of a night than it may",
        "tasks/ledger/nights.py",
        "true() if per_sheet is None else sofar + amount <= to_micro(per_sheet)",
        "true()",
        NIGHTS,
    ),
    Mutation(
        "whoever has lost a night approves nothing in it",
        "tasks/ledger/nights.py",
        "mine = (nights.c.place == place, nights.c.ended_at.is_(None))",
        "mine = ()",
        NIGHTS,
    ),
    Mutation(
        "an inbox is swept by one at a time",
        "tasks/ledger/nights.py",
        "    if alive:\n",
        "    if False:\n",
        NIGHTS,
    ),
    Mutation(
        "around midnight an inbox is swept by one",
        "tasks/ledger/nights.py",
        '    wait_for_turn(connection, f"night of {inbox}")\n',
        "",
        NIGHTS,
    ),
    Mutation(
        "a canary stays the only one until somebody keeps a film",
        "tasks/nights/records.py",
        "return begun[0] if begun else rows[0]",
        "return rows[0]",
        ("tests/unit/nights/test_records.py",),
    ),
    Mutation(
        "what was approved of a trial is not approved with a service that costs",
        "tasks/ledger/origins.py",
        "return approved or has_paid(connection, campaign_id)",
        "return has_paid(connection, campaign_id)",
        ("tests/unit/campaign/test_match.py",),
    ),
    Mutation(
        "what is under way is carried with the kind of service it was begun with",
        "tasks/campaign/steps.py",
        "    check_same_money(campaign, run.options)\n",
        "",
        ("tests/pipeline/test_nightly.py::test_a_trial_is_left_alone_by_nights_that_cost",),
    ),
    Mutation(
        "what is approved counts for the night",
        "tasks/campaign/steps.py",
        "if run.also_approves is not None:",
        "if False:",
        ("tests/pipeline/test_nightly.py",),
    ),
    Mutation(
        "a crew pays for what it has claimed alone",
        "tasks/ledger/takes.py",
        "if terms.batches is not None and batch not in terms.batches:",
        "if False:",
        PRODUCTIONS,
    ),
    Mutation(
        "a crew claims what nobody has",
        "tasks/ledger/productions.py",
        "            batches.c.freed_at.is_not(None),\n            _first_in(states)",
        "            _first_in(states)",
        PRODUCTIONS,
    ),
    Mutation(
        "crews end with their run's right to the campaign",
        "tasks/ledger/productions.py",
        "campaigns.c.owner == production.owner)",
        ")",
        PRODUCTIONS,
    ),
    Mutation(
        "a crew that lost a batch begins nothing more",
        "tasks/campaign/claimed.py",
        "elif lost := before & self.batches - renewed:",
        "elif lost := frozenset():",
        ("tests/crews/test_claimed.py",),
    ),
    Mutation(
        "a crew with another key leaves a production alone",
        "tasks/campaign/crew.py",
        "if found.organisation != organisation_of(at.settings):",
        "if False:",
        ("tests/crews/test_claimed.py",),
    ),
)
