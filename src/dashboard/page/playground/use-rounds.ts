import { useEffect, useRef, useState } from "preact/hooks";
import { forgetAnswer } from "./answer.ts";
import { type Call, type Run, run } from "./run.ts";
import type { AttachedImage, ToolCall, Turn } from "./turns.ts";

/** A message, and the response of each model. */
export interface Round {
  readonly text: string;
  readonly images: readonly AttachedImage[];
  readonly runs: readonly Run[];
}

export type Sent = Pick<Round, "text" | "images">;

/** The calls of tools that a column's last response waits for. */
export function callsFor(rounds: readonly Round[], column: number): readonly ToolCall[] {
  const last = rounds.at(-1);
  return last === undefined ? [] : callsOf(runIn(last, column));
}

function callsOf(run: Run | undefined): readonly ToolCall[] {
  return run?.answer.kind === "text" ? (run.answer.calls ?? []) : [];
}

/** A second model that joins later continues the first one's conversation. */
function runIn({ runs }: Round, column: number): Run | undefined {
  return runs[column] ?? runs[0];
}

/** The conversation of a column, with the next message. A message without a response is skipped. */
export function turnsFor(rounds: readonly Round[], column: number, next: Sent): readonly Turn[] {
  const turns: Turn[] = [];
  let calls: readonly ToolCall[] = [];
  const say = ({ text, images }: Sent): Turn =>
    calls.length > 0 ? { by: "tools", text, calls } : { by: "user", text, images };
  for (const round of rounds) {
    const answered = runIn(round, column);
    const text = answered?.answer.kind === "text" ? answered.answer.text : "";
    const nextCalls = callsOf(answered);
    if (text === "" && nextCalls.length === 0) continue;
    turns.push(say(round), { by: "model", text, calls: nextCalls });
    calls = nextCalls;
  }
  return [...turns, say(next)];
}

/** The rounds of this visit, and the calls that run. `onUnknownSecret` is called if the server does not know a call's secret. */
export function useRounds(onUnknownSecret: () => void) {
  const [rounds, setRounds] = useState<readonly Round[]>([]);
  const stopper = useRef(new AbortController());
  const shown = useRef(rounds);
  shown.current = rounds;
  const forget = (gone: readonly Round[]) => {
    for (const { runs } of gone) for (const { answer } of runs) forgetAnswer(answer);
  };
  useEffect(
    () => () => {
      stopper.current.abort();
      forget(shown.current);
    },
    [],
  );
  return {
    rounds,
    isRunning: rounds.at(-1)?.runs.some(({ state }) => state === "running") ?? false,
    stop: () => stopper.current.abort(),
    clear() {
      forget(rounds);
      setRounds([]);
    },
    /** Continues the rounds of `past`; others go. */
    start(sent: Sent, calls: readonly Call[], past: readonly Round[]) {
      forget(rounds.filter((round) => !past.includes(round)));
      stopper.current = new AbortController();
      const { signal } = stopper.current;
      setRounds([...past, { ...sent, runs: [] }]);
      for (const [column, call] of calls.entries()) {
        void run(call, signal, (now) => {
          if (now.error?.code === "invalid_credentials") onUnknownSecret();
          if (stopper.current.signal !== signal) return;
          setRounds((before) => {
            const last = before[past.length];
            if (last === undefined) return before;
            return before.toSpliced(past.length, 1, { ...last, runs: last.runs.toSpliced(column, 1, now) });
          });
        });
      }
    },
  };
}
