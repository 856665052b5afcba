import { invalidRequest } from "../../base/errors.ts";
import { Origin } from "../exchange/origin.ts";
import type { RememberedTurns } from "../turns/turn-body.ts";

/** A frame on a WebSocket, whose connection remembers what it continues. */
export class SocketOrigin extends Origin {
  override readonly remembered: RememberedTurns;

  constructor(remembered: RememberedTurns) {
    super();
    this.remembered = remembered;
  }

  override rejectForm(form: "stream" | "background"): void {
    if (form === "stream") return;
    throw invalidRequest(
      "`background: true` is not supported on WebSockets. Remove it, or send the request by HTTP.",
      "background",
    );
  }
}
