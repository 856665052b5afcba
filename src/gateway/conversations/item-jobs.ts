import { shared } from "../../base/bytes.ts";
import type { MemberChanges } from "../../dialects/json/patch.ts";
import { summaryRequest } from "../../dialects/openai-responses/client/compaction.ts";
import { shownItems } from "../../dialects/openai-responses/client/shown-item.ts";
import { StreamedItems } from "../../dialects/openai-responses/client/streamed-items.ts";
import {
  type EndedResponse,
  endedResponse,
  type ItemSpan,
  type TurnItem,
  withMembers,
} from "../../dialects/openai-responses/client/turn-items.ts";
import type { Job } from "../body-worker/job.ts";

/** Writes items of a conversation as clients are shown them. */
export const shownJob: Job<readonly TurnItem[], Uint8Array> = {
  name: "shown",
  run: (items) => shared(shownItems(items)),
};

/** Writes the request for a summary of a conversation. */
export const summaryJob: Job<Readonly<Parameters<typeof summaryRequest>>, Uint8Array> = {
  name: "summary",
  run: (asked) => shared(Buffer.concat(summaryRequest(...asked))),
};

/** Sets members of a response: of all of it, or of the end of its stream. */
export const membersJob: Job<{ readonly bytes: Uint8Array; readonly changes: MemberChanges }, Uint8Array> = {
  name: "members",
  run: ({ bytes, changes }) => shared(withMembers(bytes, changes)),
};

interface EndedInput {
  /** The whole response, or the end of its stream. */
  readonly bytes: Uint8Array;
  /** The items that were streamed before that; null if there was no stream. */
  readonly streamed: Pick<StreamedItems, "events"> | null;
}

/** An `EndedResponse` as data. */
interface EndedResult extends Omit<EndedResponse, "output"> {
  /** The bytes that `output` refers to. */
  readonly bytes: Uint8Array;
  readonly output: readonly ItemSpan[];
}

/** Reads what is to be kept of a response; null if there is none that can be. */
export const endedJob: Job<EndedInput, EndedResult | null> = { name: "ended", run: readEnded };

function readEnded({ bytes: whole, streamed }: EndedInput): EndedResult | null {
  const response = endedIn(whole, streamed === null ? undefined : new StreamedItems(streamed.events));
  if (response === null) return null;
  const { id, head, output } = response;
  const isInWhole = output.every(({ raw }) => raw.buffer === whole.buffer);
  const bytes = shared(isInWhole ? whole : Buffer.concat(output.map(({ raw }) => raw)));
  let at = 0;
  const spans = output.map(({ raw, ...item }) => {
    const start = isInWhole ? raw.byteOffset - whole.byteOffset : at;
    at = start + raw.length;
    return { ...item, start, end: at };
  });
  return { id, head: shared(head), bytes, output: spans };
}

/** Null for invalid JSON too. */
function endedIn(answer: Uint8Array, streamed: StreamedItems | undefined): EndedResponse | null {
  try {
    return endedResponse(answer, streamed);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
