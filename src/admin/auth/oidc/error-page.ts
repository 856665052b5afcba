import { answerHeaders } from "../../formats/admin-error.ts";

export const home = "/admin";

/** The page that a person came from: many people can reach only the self-service page. */
export function homeOf(page: string): string {
  return page.startsWith("/usage") ? "/usage" : home;
}

interface WaysOn {
  /** Link to sign in again as someone else; null if the provider offers none. */
  readonly retryUrl: string | null;
  readonly home: string;
}

/** An error page for a person who followed a link. */
export function errorPage(
  status: 401 | 403 | 404 | 503,
  message: string,
  { retryUrl, home: back }: WaysOn,
): Response {
  const retryText = status === 403 ? "Use another account" : "Sign in again";
  const retry = retryUrl === null ? "" : `<a href="${escaped(retryUrl)}">${retryText}</a> · `;
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Sluice</title><h1>Not signed in</h1><p>${escaped(message)}</p><p>${retry}<a href="${back}">Back</a></p></html>`;
  const headers = answerHeaders({
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  });
  return new Response(page, { status, headers });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
