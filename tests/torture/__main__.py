"""Long tests of what must never break, in one table; exit 1 on any violation.

python -m tests.torture                      everything
python -m tests.torture --only crashes       one part (see `tests/torture/parts.py`)
python -m tests.torture --scenario folder --at "service: after the answer (create)" --nth 2
                                             one kill again, as a violation names it
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback

from tests.torture.crashes import Plan, one_trial
from tests.torture.hook import ANY
from tests.torture.parts import PARTS, Options
from tests.torture.result import Result, Violation, as_table
from tests.torture.scenario import SCENARIOS
from tests.torture.trial import Kill


def main() -> int:
    """Run what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="these parts alone")
    parser.add_argument("--every", type=int, default=1, help="try every n-th visit alone")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), help="one trial of this campaign")
    parser.add_argument("--step", type=int, default=0, help="in the run of which sheet, from 0")
    parser.add_argument("--at", help="the point where the process is killed")
    parser.add_argument("--nth", type=int, default=1, help="at its n-th visit")
    parser.add_argument("--then", type=int, help="and the recovery at its n-th visit of any point")
    args = parser.parse_args()
    return _again(args) if args.scenario else _all(args)


def _all(args: argparse.Namespace) -> int:
    print(f"the seed is {args.seed}", flush=True)
    options = Options(seed=args.seed, every=args.every, workers=args.workers)
    results = []
    for name, part in PARTS.items():
        if args.only and name not in args.only:
            continue
        try:
            for result in part(options):
                found = f"{len(result.violations)} violations, {result.seconds:.0f} s"
                print(f"{result.part}: {found}", file=sys.stderr, flush=True)
                results.append(result)
        except Exception as error:
            traceback.print_exc()
            again = f"python -m tests.torture --only {name} --seed {args.seed}"
            results.append(Result(name, violations=[Violation(f"it broke off: {error}", again)]))
    print(as_table(results))
    violations = [violation for result in results for violation in result.violations]
    for violation in violations:
        print(violation)
    return 1 if violations else 0


def _again(args: argparse.Namespace) -> int:
    point = args.at or ANY
    # Without a point there is no such visit: the campaign is carried out unharmed.
    kill = Kill(args.step, point, args.nth if args.at else 10**9)
    second = Kill(args.step, ANY, args.then) if args.then else None
    trial = one_trial(SCENARIOS[args.scenario], Plan(kill, second))
    print(trial.said)
    print(f"{trial.kills} kills, {len(trial.findings)} violations")
    for finding in trial.findings:
        print(finding)
    return 1 if trial.findings else 0


if __name__ == "__main__":
    sys.exit(main())
