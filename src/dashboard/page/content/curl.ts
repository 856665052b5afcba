import type { Json } from "../../../base/json.ts";

/** A command that sends the same request again. The key comes from the environment, and is never part of it. */
export function curlOf(origin: string, route: string, request: Json): string {
  const body = JSON.stringify(request).replaceAll("'", `'\\''`);
  return [
    `curl ${origin}${route}`,
    `  -H "Authorization: Bearer $SLUICE_API_KEY"`,
    `  -H "Content-Type: application/json"`,
    `  -d '${body}'`,
  ].join(" \\\n");
}
