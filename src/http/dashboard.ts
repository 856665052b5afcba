import type { Elysia } from "elysia";
import { GatewayError } from "../base/errors.ts";
import { pathOf } from "../base/requests/request-path.ts";
import { type PageBase, pageResponse } from "../dashboard/serve.ts";
import { plainError } from "./plain.ts";

/** The dashboard's page and files, or the key member's. The page fetches everything it shows from the admin API. */
export function mountPages(app: Elysia, base: PageBase): void {
  app.get(base, ({ request }) => pageResponse(request, pathOf(request), base));
  app.get(`${base}/*`, ({ request }) => pageOrFile(request, base));
}

/** A program that misspells a path of the admin API must not get the page as its response. */
function pageOrFile(request: Request, base: PageBase): Promise<Response> | Response {
  const path = pathOf(request);
  if (!/^\/\w+\/api(\/|$)/.test(path)) return pageResponse(request, path, base);
  return plainError(
    path,
    new GatewayError("not_found", `Unknown path ${path}; the admin API is at /admin/api/v1.`),
  );
}
