import { assert } from "../../base/assert.ts";
import { sharedBytes } from "../../base/bytes.ts";
import { type MeteredRouteName, meteredRoute } from "../../dialects/metered/registry.ts";
import type { MeteredReading, MeteredResponse, RequestedForm } from "../../dialects/metered/route.ts";
import type { Job } from "../body-worker/job.ts";

interface MeteredInput {
  readonly route: MeteredRouteName;
  /** The format's name. */
  readonly format: string;
  readonly answers: readonly MeteredResponse[];
  readonly asked: RequestedForm;
}

/** The result of reading, as data. */
interface MeteredResult extends Omit<MeteredReading, "written"> {
  readonly written: Uint8Array | null;
}

/** Reads the responses of a metered route, and writes the client's. */
export const meteredJob: Job<MeteredInput, MeteredResult> = { name: "metered", run: readMetered };

function readMetered({ route, format, answers, asked }: MeteredInput): MeteredResult {
  const { pass, read: readAll } = meteredRoute(route).formats[format] ?? {};
  const [answer] = answers;
  const passed = answers.length === 1 && answer !== undefined ? pass?.(answer, asked) : null;
  const read = passed ?? readAll?.(answers, asked);
  assert(read !== undefined, `${route} has the format ${format}`);
  return { ...read, written: read.written === null ? null : withRoom(read.written) };
}

/** More than any end with its figures takes. */
const roomForEnd = 1024;

/** Leaves room for the end of a response, which is not known here: joining megabytes takes long on the event loop. */
function withRoom(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = sharedBytes(length + roomForEnd);
  Buffer.from(bytes.buffer).write(text);
  return bytes.subarray(0, length);
}
