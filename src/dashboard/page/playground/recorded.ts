import type { ContentView } from "../../../admin/content/schema.ts";
import { goTo, hrefOf } from "../router.ts";

/** A recorded request to be sent again. */
export interface RecordedRequest {
  readonly model: string | null;
  readonly route: string;
  readonly body: string;
}

let handedOver: RecordedRequest | null = null;

/** Stays in this tab's memory: an address with a conversation in it would be stored in histories and logs. */
export function openInPlayground({ model, route, request }: ContentView): void {
  handedOver = { model, route, body: JSON.stringify(request, null, 2) };
  goTo(hrefOf("playground"));
}

/** Once: the next visit has the usual form. */
export function takeRecorded(): RecordedRequest | null {
  const taken = handedOver;
  handedOver = null;
  return taken;
}
