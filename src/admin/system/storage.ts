import type { Settings } from "../../config/settings.ts";
import type { ContentSizes } from "../../store/content-store.ts";
import type { Store } from "../../store/store.ts";
import { iso } from "../moments.ts";
import type { StorageView } from "./schema.ts";

/** Stored amounts, retention and the last deletions, in the fields shared by the admin API and `--json`. */
export async function readStorage(
  store: Store,
  { retention, content, batches }: Pick<Settings, "retention" | "content" | "batches">,
  contentSizes: ContentSizes | null,
): Promise<StorageView> {
  const figures = await store.storage();
  return {
    database_bytes: figures.databaseBytes,
    journal_bytes: figures.journalBytes,
    disk_free_bytes: figures.diskFreeBytes,
    response_bytes: figures.responseBytes,
    retry_response_bytes: figures.retryResponseBytes,
    file_bytes: figures.fileBytes,
    records: {
      accounts: figures.accounts,
      keys: figures.keys,
      ledger_entries: figures.entries,
      free_requests: figures.loggedRequests,
      responses: figures.responses,
      retry_responses: figures.retryResponses,
      batches: figures.batches,
      files: figures.files,
      audit_log: figures.auditRecords,
    },
    content: contentSizes && contentDocument(contentSizes, content),
    retention: retentionDocument(retention, batches),
    pruned: figures.prunings.map(({ what, atMs, pruned }) => ({
      what: what === "exchanges" ? "requests" : what,
      at: iso(atMs),
      count: pruned,
    })),
  };
}

/** Recorded content stays until it expires, even after recording was turned off. */
function contentDocument(
  { rows, bytes }: ContentSizes,
  settings: Settings["content"],
): StorageView["content"] {
  return { requests: rows, bytes, days: settings?.days ?? 0, max_bytes: settings?.maxSizeBytes ?? 0 };
}

function retentionDocument(
  retention: Settings["retention"],
  { resultDays, bytesPerKeyBytes }: Settings["batches"],
): StorageView["retention"] {
  return {
    request_days: retention.requestDays,
    request_rows: retention.requestRows,
    response_hours: retention.responseHours,
    response_bytes_per_key: retention.responseBytesPerKey,
    result_days: resultDays,
    file_bytes_per_key: bytesPerKeyBytes,
  };
}
