/** One server-sent event. `event` is "" if the frame has no such line; `data` has its lines joined. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
}

/** A comment, which readers of server-sent events ignore, and so legal anywhere in a stream. */
export const keepaliveComment = ": keepalive\n\n";
