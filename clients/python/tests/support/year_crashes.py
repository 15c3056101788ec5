"""The crashes of a year (test/client/year-crashes.ts)."""

from __future__ import annotations

from typing import Iterator, List, Set

from .computer import Attempt


class Crashes:
    """Checks that no crash signature is sent again after a confirmed heartbeat with it, or after the user has opted out."""

    def __init__(self) -> None:
        self.sent = 0
        """The number of heartbeats with a crash signature."""
        self._count = 0
        self._since_opt_out: List[str] = []
        # Labels of signatures that a confirmed heartbeat had, or that an opt-out has deleted.
        self._must_not_be_sent: Set[object] = set()

    def add(self, is_telemetry_off: bool) -> str:
        """Records a crash. Returns its label."""
        self._count += 1
        label = f"crash-{self._count}"
        self._since_opt_out.append(label)
        if is_telemetry_off:
            self.delete_all()
        return label

    def delete_all(self) -> None:
        """Records that the user opted out."""
        self._must_not_be_sent.update(self._since_opt_out)
        self._since_opt_out.clear()

    def find_wrongly_sent(self, attempts: List[Attempt]) -> Iterator[str]:
        """Yields a sentence for each signature that was sent again."""
        for attempt in attempts:
            received = attempt.received
            label = (received.telemetry or {}).get("crash_label") if received else None
            if received is None or label is None:
                continue
            self.sent += 1
            if label in self._must_not_be_sent:
                yield f"{label} was sent, although a confirmed heartbeat had it, or an opt-out deleted it"
            if received.is_confirmed:
                self._must_not_be_sent.add(label)
