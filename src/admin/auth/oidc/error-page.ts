import { newId } from "../../../base/id.ts";
import { answerHeaders } from "../../routes/refusal.ts";

export const home = "/admin";

/** An error page for a person who came here by a link. `retryUrl` is where they can try again, as someone else. */
export function errorPage(status: 401 | 403 | 404 | 503, message: string, retryUrl: string): Response {
  const retryText = status === 403 ? "Use another account" : "Sign in again";
  const retry = retryUrl === home ? "" : `<a href="${escaped(retryUrl)}">${retryText}</a> · `;
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sluice</title><h1>Not signed in</h1><p>${escaped(message)}</p><p>${retry}<a href="${home}">Back</a></p></html>`;
  const headers = {
    ...answerHeaders,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-request-id": newId("req_"),
  };
  return new Response(page, { status, headers });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
