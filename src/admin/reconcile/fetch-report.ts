import { abortAfter } from "../../base/loop/deadline.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { limitedText } from "../../base/text/limited-text.ts";
import { readErrorObject } from "../../dialects/errors/error-body.ts";
import { parseObject } from "../../dialects/json/json-fields.ts";
import type { ProviderSettings } from "../../vendors/provider.ts";
import { vendorOf } from "../../vendors/registry.ts";
import { UnreadableReport, type UsageReport } from "../../vendors/usage-report.ts";
import { type ReportFile, readPage } from "./read-report.ts";

export interface FetchedDays {
  readonly fromDay: number;
  /** Included. */
  readonly throughDay: number;
}

/** More than three years of pages of a month. */
const maxPages = 40;
const timeoutMs = 30_000;
const maxBytes = 16 * 1024 * 1024;

export type ReportingProvider = Pick<ProviderSettings, "kind" | "baseUrl">;

/** Fetches the provider's own reports, page by page. */
export async function fetchPages(
  provider: ReportingProvider,
  adminKey: string,
  days: FetchedDays,
  onPage: (report: string, page: number) => void,
): Promise<readonly ReportFile[]> {
  const { usageReports } = vendorOf(provider.kind);
  if (usageReports === undefined) {
    throw new UnreadableReport(
      `Sluice cannot fetch usage reports of "${provider.kind}" providers. Save the report and pass the file.`,
    );
  }
  const headers = usageReports.headers(adminKey);
  const pages: ReportFile[] = [];
  for (const report of usageReports.reports)
    pages.push(...(await fetchReport(provider, report, headers, days, onPage)));
  return pages;
}

async function fetchReport(
  { baseUrl }: ReportingProvider,
  report: UsageReport,
  headers: Readonly<Record<string, string>>,
  { fromDay, throughDay }: FetchedDays,
  onPage: (report: string, page: number) => void,
): Promise<readonly ReportFile[]> {
  const { name } = report;
  const pages: ReportFile[] = [];
  for (let next: string | null = null; pages.length < maxPages; ) {
    onPage(name, pages.length + 1);
    const text = await ask(`${baseUrl}${report.path(fromDay, throughDay, next)}`, headers, report);
    const page = readPage(parseObject(text) ?? undefined, report);
    pages.push({ name, text, report: name });
    if (page.next === null) return pages;
    if (page.next === next) break;
    next = page.next;
  }
  throw new UnreadableReport(`${name} does not end after ${pages.length} pages.`);
}

/** Redirects are not followed, so that the key is sent to this host only. */
async function ask(
  url: string,
  headers: Readonly<Record<string, string>>,
  { name }: UsageReport,
): Promise<string> {
  let response: Response;
  let body: string;
  try {
    response = await fetch(url, { headers, redirect: "error", signal: abortAfter(timeoutMs) });
    body = await limitedText(response, maxBytes, () => new Error(`a page is larger than ${maxBytes} bytes`));
  } catch (error) {
    const cause = systemCode(error) ?? (error instanceof Error ? error.message : String(error));
    throw new UnreadableReport(withoutSecrets(`Could not fetch ${name}: ${cause}.`));
  }
  if (response.ok) return body;
  const { message } = readErrorObject(parseObject(body) ?? {});
  throw new UnreadableReport(
    withoutSecrets(
      `The provider rejected the request for ${name} with status ${response.status}: ${message}`,
    ),
  );
}
