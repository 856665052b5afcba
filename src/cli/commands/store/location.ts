import { resolve } from "node:path";
import { isReference } from "../../../config/secrets.ts";
import { locateStore } from "../../../config/store.ts";
import type { StoreLocation } from "../../../store/settings.ts";
import type { ConfigOptions } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** A URL, or a reference to one; everything else is a folder. */
export function locationOf(
  place: string,
  { config: file }: ConfigOptions,
  { env, cwd }: Terminal,
): StoreLocation {
  const isUrl = isReference(place) || place.includes("://");
  const address = isUrl ? locateStore({ file, store: place, env, cwd }) : null;
  return address ?? { dir: resolve(cwd, place) };
}
