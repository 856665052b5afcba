import { modeOrigins } from "../base/key-attributes.ts";
import type { Settings } from "../config/settings.ts";
import type { Route } from "../gateway/client-call.ts";

export const origins: readonly string[] = Object.values(modeOrigins);

/** Whether a path belongs to the interface, or would if there were such a route. */
export function isOfInterface(path: string): boolean {
  return origins.some((origin) => path.startsWith(`${origin}/v1/`));
}

/** Whether a route has this path, with or without a slash at its end. */
export function isAt({ path: pattern }: Route, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  if (!pattern.includes("/:")) return path === pattern || path === `${pattern}/`;
  const segments = path.replace(/\/$/, "").split("/");
  const wanted = pattern.split("/");
  return (
    wanted.length === segments.length &&
    wanted.every((name, index) => (name.startsWith(":") ? segments[index] !== "" : segments[index] === name))
  );
}

/** Routes beyond the interface can be turned off, and then are as if there were none. */
export function isOn({ switchedBy }: Route, { routes }: Settings): boolean {
  return switchedBy === undefined || routes[switchedBy];
}

/** The path of a route that a client with a wrong base URL has missed, without `/v1` or with two of them; else null. */
export function meantPath(path: string, served: readonly Route[]): string | null {
  const [, origin = "", rest = ""] = /^(\/token)?(?:\/v1)*(\/.*)$/.exec(path) ?? [];
  const meant = `${origin}/v1${rest}`;
  return served.some((route) => route.path === meant) ? meant : null;
}
