import { useEffect, useRef } from "preact/hooks";
import type { EntryView } from "../../../admin/requests/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { count, duration, exactCredits, percent } from "../format.ts";
import { Badge, StatusCode } from "../parts/badge.tsx";
import { FactList, type NamedFact } from "../parts/fact-list.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/states.tsx";
import type { Answer, Score, Vector } from "../playground/answer.ts";
import { adviceFor } from "../playground/error.ts";
import type { Run } from "../playground/run.ts";
import type { Round } from "../playground/use-rounds.ts";
import { hrefOf } from "../router.ts";
import { meteredOf } from "./exchange-table.tsx";

const stateTones = {
  running: "info",
  done: "good",
  rejected: "bad",
  failed: "bad",
  stopped: "warn",
  broken: "bad",
} as const;

function chargeOf(entries: readonly EntryView[]): string {
  const charge = entries.find((entry) => entry.kind === "charge");
  if (!charge) return "nothing charged";
  return charge.unit === "credits"
    ? `${exactCredits(-charge.amount)} credits`
    : plural(-charge.amount, "token");
}

function factsOf(run: Run): readonly NamedFact[] {
  const request = run.detail?.request;
  return [
    [
      "State",
      <>
        <Badge tone={stateTones[run.state]}>{run.state}</Badge>
        {run.status !== null && <StatusCode status={run.status} outcome={run.state} />}
      </>,
    ],
    ["Cost", <span data-test="cost">{run.detail ? chargeOf(run.detail.entries) : "–"}</span>],
    ["Tokens", request ? meteredOf(request) : "–"],
    ["First token", duration(run.firstTokenMs)],
    ["Duration", duration(run.totalMs)],
    ["Request", run.requestId && <a href={hrefOf(`requests/${run.requestId}`)}>{run.requestId}</a>],
  ];
}

function Vectors({ vectors }: { vectors: readonly Vector[] }) {
  return (
    <ol class="vectors stack">
      {vectors.map(({ length, first }, place) => (
        <li key={place}>
          <strong>{count(length)} numbers</strong>
          <code>
            [{first.map((value) => value.toFixed(4)).join(", ")}
            {length > first.length && ", …"}]
          </code>
        </li>
      ))}
    </ol>
  );
}

function Scores({ verdict, scores }: { verdict: string; scores: readonly Score[] }) {
  return (
    <>
      <p data-test="verdict">{verdict}</p>
      <ol class="scores stack">
        {scores.map(({ name, value, isHigh }, place) => (
          <li key={place}>
            <span>{name}</span>
            <span class="number">{percent(value, 1)}</span>
            <meter
              class={isHigh ? "bad" : "info"}
              min={0}
              max={1}
              value={value}
              aria-label={`Score of ${name}`}
            />
          </li>
        ))}
      </ol>
    </>
  );
}

/** The response, shown by its kind. */
function AnswerView({ answer, isRunning }: { answer: Answer; isRunning: boolean }) {
  switch (answer.kind) {
    case "vectors":
      return <Vectors vectors={answer.vectors} />;
    case "scores":
      return <Scores verdict={answer.verdict} scores={answer.scores} />;
    case "images":
      return (
        <div class="pictures stack">
          {answer.images.map(({ address, isExternal }, place) =>
            isExternal ? (
              <a key={address} href={address} target="_blank" rel="noreferrer">
                {address}
              </a>
            ) : (
              <img key={address} src={address} alt={`Result ${place + 1}`} />
            ),
          )}
        </div>
      );
    case "sound":
      // biome-ignore lint/a11y/useMediaCaption: what it says is the text of the question.
      return <audio controls src={answer.address} />;
    default:
      return (
        <div class={isRunning ? "text live" : "text"}>
          {answer.text === "" && answer.calls === undefined ? (
            <span class="muted">{isRunning ? "Waiting…" : "No text."}</span>
          ) : (
            answer.text
          )}
          {answer.calls?.map(({ id, name, arguments: given }) => (
            <p key={id} data-test="call">
              <Badge tone="info">tool call</Badge>{" "}
              <code>
                {name}({given})
              </code>
            </p>
          ))}
        </div>
      );
  }
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

/** The server's error, and what to do about it. */
function Problem({ run: { error, detail } }: { run: Run }) {
  if (error === null) return null;
  const advice = detail?.explanation ?? adviceFor(error);
  return (
    <div class="callout bad problem" role="alert" data-test="problem">
      <Icon name="warning" />
      <div class="stack">
        <p>
          <code>{error.code}</code>
        </p>
        <p>{error.message}</p>
        {advice !== null && advice !== error.message && <p class="advice">{advice}</p>}
      </div>
    </div>
  );
}

function Events({ events }: { events: readonly string[] }) {
  const { place, onScroll } = useFollow(events.length);
  return (
    <details class="folded">
      <summary>
        Raw {events.length === 1 ? "response" : "events"} <span class="muted">{count(events.length)}</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <div class="well events" ref={place} onScroll={onScroll} data-test="events" tabIndex={0} role="log">
        {events.map((event, index) => (
          <pre key={index}>{event}</pre>
        ))}
      </div>
    </details>
  );
}

function OneRun({ run, number }: { run: Run; number: number }) {
  const hasAnswer = run.error === null || (run.answer.kind === "text" && run.answer.text !== "");
  return (
    <section class="card run" aria-label={`Response ${number === 1 ? "" : `${number} `}from ${run.model}`}>
      <h2>{run.model}</h2>
      <FactList class="figures line" facts={factsOf(run)} />
      <div class="answer">
        <div class="answer-side stack" aria-live="polite">
          <Problem run={run} />
          {hasAnswer && (
            <div data-test="answer">
              <AnswerView answer={run.answer} isRunning={run.state === "running"} />
            </div>
          )}
        </div>
        <div class="answer-side">
          <Events events={run.events} />
        </div>
      </div>
    </section>
  );
}

/** The message of a round, and its run, or two side by side. */
function OneRound({ round: { text, images, runs }, number }: { round: Round; number: number }) {
  const message = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    if (number > 1) message.current?.scrollIntoView();
  }, []);
  return (
    <>
      <p class="asked" ref={message}>
        {text}
        {images.length > 0 && <small class="muted"> {images.map(({ name }) => name).join(", ")}</small>}
      </p>
      <div class={runs.length > 1 ? "runs two" : "runs"}>
        {runs.map((run, column) => (
          <OneRun key={column} run={run} number={number} />
        ))}
      </div>
    </>
  );
}

export function RoundViews({ rounds }: { rounds: readonly Round[] }) {
  if (rounds.length === 0) {
    return (
      <section class="card run">
        <Empty icon="playground" title="Nothing sent yet">
          <p>The response appears here, with the raw events of the stream to unfold.</p>
        </Empty>
      </section>
    );
  }
  return (
    <>
      {rounds.map((round, place) => (
        <OneRound key={place} round={round} number={place + 1} />
      ))}
    </>
  );
}
