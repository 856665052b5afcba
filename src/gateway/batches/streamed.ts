import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { DirectController, StreamSource } from "../exchange/client-call.ts";
import { sourceResponse } from "../response/client-stream.ts";
import { commonHeaders } from "../response/headers.ts";

/** A response of any length, read from the store as fast as its client takes it. A client that stalls is disconnected. */
export function piecesResponse(
  { exchange, configured }: AdmittedCall,
  pieces: AsyncIterable<Uint8Array>,
  contentType: string,
): Response {
  const { call } = exchange;
  const { clientIdleTimeoutMs } = configured.settings.server;
  let isOver = false;
  const source: StreamSource = {
    async pull(controller: DirectController) {
      try {
        for await (const piece of pieces) {
          call.disconnect(clientIdleTimeoutMs);
          await controller.write(piece);
          if (isOver) return;
        }
      } catch (error) {
        // What breaks off must not look complete.
        call.disconnect();
        throw error;
      }
      controller.end();
    },
    cancel() {
      isOver = true;
    },
  };
  const headers = { ...commonHeaders(exchange), "content-type": contentType };
  return sourceResponse(source, call, () => ({ headers }));
}
