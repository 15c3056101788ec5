"""A desktop application on the command line: it activates, sends a heartbeat, checks for an update, and quits.

    PYTHONPATH=src python3 examples/desktop_app.py --key MOOR_XXXX-XXXX-XXXX-XXXX --email ada@example.com

The second time it needs neither key nor e-mail: the license is in the state file.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import sys
from pathlib import Path

from mooring_client import LicenseProblem, MachineIdUnreadable, MooringClient, Ports, Running, ServiceUnreachable, Status, Stopped

STATE_FILE = Path.home() / ".mooring-example" / "license.json"


def main() -> int:
    """Returns 0 if the application may run, and 1 if not. Arguments that cannot be parsed end the program with 2.

    An invalid --url or --manifest-key raises ValueError.
    """
    options = _read_options()
    ports = Ports()
    if options.uuid:
        # On a computer without a hardware UUID, such as a container, an invented one takes its place.
        digest = hashlib.sha256(options.uuid.encode()).hexdigest()
        ports = Ports(machine_id=lambda: digest)
    client = MooringClient(
        base_url=options.url,
        app="EXAMPLE",  # EXAMPLE_TELEMETRY_DISABLED=1 turns telemetry off
        product="com.example.app",
        app_version="0.9.0",
        trusted_keys=options.manifest_key,
        state_file=options.state,
        telemetry=lambda: {"os_version": f"{platform.system()} {platform.release()}"[:120], "arch": platform.machine()},
        on_state_change=show,
        log=lambda line: print(f"  log: {line}"),
        ports=ports,
    )
    with client:
        status = client.start()
        if options.key:
            status = activate(client, options)
        if isinstance(status, Running):
            status = client.heartbeat_now()
        check = client.check_for_update()
        print(f"update: {check.offer.version if check.offer else check.reason}")
        return 0 if isinstance(status, Running) else 1


def activate(client: MooringClient, options: argparse.Namespace) -> Status:
    """What an application does when the user clicks Activate."""
    try:
        client.activate(options.key, options.email, options.label)
    except LicenseProblem as problem:
        print(f"refused: {problem.detail}")
        for error in problem.errors:
            print(f"  {error.pointer}: {error.detail}")
        # At the machine limit the client repeats the activation while the user releases a machine. This example ends at once; an
        # application with a window omits the next line.
        client.waiting_activation.cancel()
    except ServiceUnreachable as error:
        print(f"no answer ({error.reason}); this computer's license is unchanged")
    except MachineIdUnreadable as error:
        print(f"{error}; for a trial, give an invented one with --uuid")
    return client.status


def show(status: Status) -> None:
    """What an application does when the status changes."""
    if isinstance(status, Running):
        print(f"running, offline until {status.offline_until}")
    elif isinstance(status, Stopped):
        print(f"stopped: {status.detail}")
    else:
        print(status.kind)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="An example of a desktop application with a Mooring license.")
    parser.add_argument("--url", default="http://localhost:3000", help="the service (default: that of npm start)")
    parser.add_argument("--key", help="a license key: activates it")
    parser.add_argument("--email", default="ada@example.com", help="the e-mail address of the license")
    parser.add_argument("--label", default="", help="a name for this machine, which its user typed")
    parser.add_argument("--state", default=str(STATE_FILE), help="the state file (default: %(default)s)")
    parser.add_argument("--manifest-key", action="append", default=[], help="a trusted manifest key, the member x of its JWK")
    parser.add_argument("--uuid", help="an invented hardware UUID")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
