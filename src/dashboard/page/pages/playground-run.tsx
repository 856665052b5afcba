import { useEffect, useRef } from "preact/hooks";
import type { EntryView } from "../../../admin/views.ts";
import { count, credits, duration } from "../format.ts";
import { Badge, StatusCode } from "../parts/badge.tsx";
import { FactList, type NamedFact } from "../parts/fact-list.tsx";
import { Empty } from "../parts/states.tsx";
import type { Run } from "../playground/run.ts";
import { hrefOf } from "../router.ts";

const stateTones = { running: "info", done: "good", refused: "bad", stopped: "warn", broken: "bad" } as const;

function chargeOf(entries: readonly EntryView[]): string {
  const charge = entries.find((entry) => entry.kind === "charge");
  if (!charge) return "nothing charged";
  return charge.unit === "credits" ? `${credits(-charge.amount)} credits` : `${count(-charge.amount)} tokens`;
}

function figuresOf(run: Run): readonly NamedFact[] {
  const exchange = run.detail?.exchange;
  return [
    [
      "State",
      <>
        <Badge tone={stateTones[run.state]}>{run.state}</Badge>
        {run.status !== null && <StatusCode status={run.status} outcome={run.state} />}
      </>,
    ],
    ["Cost", <span data-test="cost">{run.detail ? chargeOf(run.detail.entries) : "–"}</span>],
    ["Tokens", exchange ? `${count(exchange.input_tokens)} → ${count(exchange.output_tokens)}` : "–"],
    ["First byte", duration(run.firstByteMs)],
    ["Duration", duration(run.totalMs)],
    ["Request", run.requestId && <a href={hrefOf(`exchanges?open=${run.requestId}`)}>{run.requestId}</a>],
  ];
}

/** Follows the newest event, unless the reader has scrolled up to look at an older one. */
function useFollow(length: number) {
  const place = useRef<HTMLDivElement>(null);
  const away = useRef(false);
  const lastTop = useRef(0);
  useEffect(() => {
    const element = place.current;
    if (element && !away.current) element.scrollTop = element.scrollHeight;
  }, [length]);
  const onScroll = () => {
    const element = place.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 40;
    if (atEnd) away.current = false;
    else if (element.scrollTop < lastTop.current) away.current = true;
    lastTop.current = element.scrollTop;
  };
  return { place, onScroll };
}

export function RunView({ run }: { run: Run | null }) {
  const { place, onScroll } = useFollow(run?.events.length ?? 0);
  if (!run) {
    return (
      <section class="card run">
        <Empty icon="playground" title="Nothing sent yet">
          <p>The answer appears here, and beside it every event as it came over the wire.</p>
        </Empty>
      </section>
    );
  }
  return (
    <section class="card run" aria-label="Answer">
      <FactList class="figures" facts={figuresOf(run)} />
      <div class="answer">
        <div class="answer-side">
          <h2>Text</h2>
          <div class={run.state === "running" ? "text live" : "text"} data-test="answer" aria-live="polite">
            {run.text === "" ? (
              <span class="muted">{run.state === "running" ? "Waiting…" : "No text."}</span>
            ) : (
              run.text
            )}
          </div>
        </div>
        <div class="answer-side">
          <h2>
            Raw {run.events.length === 1 ? "answer" : "events"}{" "}
            <span class="muted">{count(run.events.length)}</span>
          </h2>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
          <div class="events" ref={place} onScroll={onScroll} data-test="events" tabIndex={0} role="log">
            {run.events.map((event, index) => (
              <pre key={index}>{event}</pre>
            ))}
          </div>
        </div>
      </div>
    </section>
  );
}
