import { duration } from "../format.ts";
import type { Phase } from "../pages/time-line.ts";

/** The time of a request by phase, a bar for each, on one scale. */
export function TimeLine({ phases }: { phases: readonly Phase[] }) {
  const totalMs = Math.max(1, ...phases.map(({ startMs, ms }) => startMs + ms));
  const share = (ms: number) => `${(100 * ms) / totalMs}%`;
  return (
    <ol class="time-line" aria-label="Timeline">
      {phases.map(({ name, kind, startMs, ms }) => (
        <li key={`${name} ${startMs}`}>
          <span>{name}</span>
          <span class="track">
            <i class={kind} style={{ marginInlineStart: share(startMs), inlineSize: share(ms) }} />
          </span>
          <span class="number">{duration(ms)}</span>
        </li>
      ))}
    </ol>
  );
}
