/** One server-sent event: `event` is "" when the frame had no such line; `data` has its lines joined. */
export interface SseFrame {
  readonly event: string;
  readonly data: string;
}

/** A comment, which readers of server-sent events skip: the only sign of life that is legal anywhere. */
export const keepaliveComment = ": keepalive\n\n";
