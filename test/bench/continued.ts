import type { LoadTarget } from "./load-job.ts";

/** How long the first byte of a streamed response takes, at the median. */
export interface ContinuedFigures {
  readonly aloneMs: number;
  /** The same question behind a stored conversation. */
  readonly continuedMs: number;
}

export const continuedName = "a continued response";

const turns = 100;
/** With its answer, a turn has about 4 KB. */
const said = "Sluices keep the canal navigable. ".repeat(100);
const rounds = 60;

/** Asked in turns, so that both meet the same machine. */
export async function measureContinued({ url, headers }: LoadTarget): Promise<ContinuedFigures> {
  const ask = async (fields: object) => {
    const startedMs = performance.now();
    const response = await fetch(`${url}/v1/responses`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ model: "bench-local", ...fields }),
    });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    const firstByteMs = performance.now() - startedMs;
    let text = new TextDecoder().decode(first?.value);
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      text += new TextDecoder().decode(next.value);
    }
    if (!response.ok) throw new Error(`a response was refused: ${text}`);
    return { firstByteMs, text };
  };
  let parent: string | null = null;
  for (let turn = 0; turn < turns; turn += 1) {
    const { text } = await ask({ input: said, previous_response_id: parent });
    parent = (JSON.parse(text) as { id: string }).id;
  }
  const [alone, continued]: [number[], number[]] = [[], []];
  const question = { input: "And now?", stream: true, store: false };
  for (let round = 0; round < rounds; round += 1) {
    alone.push((await ask(question)).firstByteMs);
    continued.push((await ask({ ...question, previous_response_id: parent })).firstByteMs);
  }
  return { aloneMs: median(alone), continuedMs: median(continued) };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
