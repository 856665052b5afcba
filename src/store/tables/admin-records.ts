import type {
  AdminRecords,
  AdminTokenRecord,
  AuditQuery,
  AuditRecord,
  SessionRecords,
} from "../admin-records.ts";
import { Parameters, type Queries } from "../query.ts";
import { partPattern } from "./key-search.ts";

export class StoredAdminRecords implements AdminRecords {
  readonly sessions: SessionRecords | null;
  readonly #queries: Queries;

  constructor(queries: Queries, sessions: SessionRecords | null) {
    this.#queries = queries;
    this.sessions = sessions;
  }

  async appendAudit(record: Omit<AuditRecord, "id">): Promise<void> {
    const { atMs, actor, address, action, target, detail } = record;
    await this.#queries.change(
      `INSERT INTO audit_log (at_ms, actor, address, action, target, detail)
      VALUES ($1::int8, $2, $3, $4, $5, $6)`,
      [atMs, actor, address, action, target, detail],
    );
  }

  listAudit(asked: AuditQuery): Promise<readonly AuditRecord[]> {
    const { beforeId, sinceMs, untilMs, search, limit } = asked;
    const parameters = new Parameters();
    const conditions = [`id < ${parameters.add(beforeId ?? Number.MAX_SAFE_INTEGER)}`];
    if (sinceMs !== undefined) conditions.push(`at_ms >= ${parameters.add(sinceMs)}`);
    if (untilMs !== undefined) conditions.push(`at_ms < ${parameters.add(untilMs)}`);
    if (search !== undefined) {
      conditions.push(`${searched} ILIKE ${parameters.add(partPattern(search))} ESCAPE '\\'`);
    }
    return this.#queries.read<AuditRecord>(
      `SELECT id::float8 AS id, at_ms::float8 AS "atMs", actor, address, action, target, detail
      FROM audit_log WHERE ${conditions.join(" AND ")} ORDER BY id DESC LIMIT ${parameters.add(limit)}`,
      parameters.all,
    );
  }

  async readAdminTokenHash(): Promise<string | null> {
    const [row] = await this.#queries.read<{ hash: string }>("SELECT hash FROM admin_token");
    return row?.hash ?? null;
  }

  async saveAdminTokenHash(hash: string): Promise<string> {
    await this.#queries.change(
      "INSERT INTO admin_token (id, hash) VALUES (1, $1) ON CONFLICT (id) DO NOTHING",
      [hash],
    );
    return (await this.readAdminTokenHash()) ?? hash;
  }

  async insertToken({ id, label, role, hash, createdAtMs }: AdminTokenRecord): Promise<void> {
    await this.#queries.change(
      "INSERT INTO admin_tokens (id, label, role, hash, created_at_ms) VALUES ($1, $2, $3, $4, $5::int8)",
      [id, label, role, hash, createdAtMs],
    );
  }

  listTokens(): Promise<readonly AdminTokenRecord[]> {
    return this.#queries.read<AdminTokenRecord>(
      `SELECT id, label, role, hash, created_at_ms::float8 AS "createdAtMs", revoked_at_ms::float8 AS "revokedAtMs"
      FROM admin_tokens ORDER BY created_at_ms, id`,
    );
  }

  async revokeToken(id: string, atMs: number): Promise<void> {
    await this.#queries.change(
      "UPDATE admin_tokens SET revoked_at_ms = $1::int8 WHERE id = $2 AND revoked_at_ms IS NULL",
      [atMs, id],
    );
  }
}

const searched =
  "actor || ' ' || address || ' ' || action || ' ' || coalesce(target, '') || ' ' || coalesce(detail, '')";
