import { answerHeaders } from "../formats/admin-error.ts";
import type { TailView } from "../requests/schema.ts";
import type { ExchangeFeed } from "./live.ts";

/** Below the server's idle timeout, so that a quiet gateway keeps its watchers connected. */
const heartbeatMs = 5_000;
/** A watcher that does not read is disconnected rather than buffered. */
const maxWaiting = 1_000;

/** Streams finished exchanges. Also ends when the watcher has signed out or their token was replaced. */
export function tailResponse(
  feed: ExchangeFeed,
  isStillAdmitted: () => Promise<boolean>,
  { everyMs = heartbeatMs, onLeave = () => {} } = {},
): Response {
  const encoder = new TextEncoder();
  let leave = () => {};
  let isOver = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const send = (text: string) => {
          if ((controller.desiredSize ?? 0) <= 0) return end();
          controller.enqueue(encoder.encode(text));
        };
        const listener = (line: TailView) => send(`data: ${JSON.stringify(line)}\n\n`);
        const beat = async () => {
          // While the database with the sessions is unavailable, viewers stay connected.
          const mayStay = await isStillAdmitted().catch(() => true);
          if (isOver) return;
          if (mayStay) send(": still here\n\n");
          else end();
        };
        const timer = setInterval(beat, everyMs);
        timer.unref();
        leave = () => {
          if (isOver) return;
          isOver = true;
          onLeave();
          clearInterval(timer);
          feed.leave(listener);
        };
        const end = () => {
          leave();
          controller.close();
        };
        send(": recent requests follow, then new ones as they end\n\n");
        for (const line of feed.join(listener, end)) listener(line);
      },
      cancel() {
        leave();
      },
    },
    { highWaterMark: maxWaiting },
  );
  return new Response(body, { headers: answerHeaders({ "content-type": "text/event-stream" }) });
}
