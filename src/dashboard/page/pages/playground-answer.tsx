import { count, percent } from "../format.ts";
import type { Answer, Score, Vector } from "../playground/answer.ts";

function Vectors({ of: vectors }: { of: readonly Vector[] }) {
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

function Scores({ verdict, of: scores }: { verdict: string; of: readonly Score[] }) {
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

/** What came back, in the form that fits it. */
export function AnswerView({ of: answer, isRunning }: { of: Answer; isRunning: boolean }) {
  switch (answer.kind) {
    case "vectors":
      return <Vectors of={answer.vectors} />;
    case "scores":
      return <Scores verdict={answer.verdict} of={answer.scores} />;
    case "images":
      return (
        <div class="pictures stack">
          {answer.images.map(({ address, isElsewhere }, place) =>
            isElsewhere ? (
              <a key={address} href={address} target="_blank" rel="noreferrer">
                {address}
              </a>
            ) : (
              <img key={address} src={address} alt={`Answer ${place + 1}`} />
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
          {answer.text === "" ? (
            <span class="muted">{isRunning ? "Waiting…" : "No text."}</span>
          ) : (
            answer.text
          )}
        </div>
      );
  }
}
