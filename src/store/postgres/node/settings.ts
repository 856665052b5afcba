import { type NodeTiming, usualTiming } from "../../node.ts";
import type { NodeSettings } from "../../node-settings.ts";
import { parseAddress } from "../address.ts";
import type { ClientOptions } from "../client.ts";

/** The settings of a node in the form that its parts need. */
export interface NodeContext extends NodeSettings {
  readonly connection: Pick<ClientOptions, "address" | "prepare">;
  readonly timing: NodeTiming;
}

export function contextOf(settings: NodeSettings): NodeContext {
  const { location, timing = usualTiming } = settings;
  const address = parseAddress(location.url, location.password);
  return { ...settings, timing, connection: { address, prepare: location.prepare } };
}
