import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { commonHeaders } from "../response/headers.ts";
import { pacedResponse } from "../response/paced-response.ts";

/** What a download has in memory at most: the pieces that it has read, and what the runtime has not sent. */
const downloadBytes = 1024 * 1024;

/** A download of any length, read from the store piece by piece. */
export async function downloadResponse(
  call: AdmittedCall,
  pieces: AsyncIterable<Uint8Array>,
  contentType: string,
): Promise<Response> {
  await call.awaitStored(downloadBytes);
  const headers = { ...commonHeaders(call.exchange), "content-type": contentType };
  return pacedResponse(call.exchange, { pieces: () => pieces }, { headers });
}
