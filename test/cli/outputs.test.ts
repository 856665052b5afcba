import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newPlace, sluice } from "./fixtures.ts";

const golden = new URL("./golden/outputs.txt", import.meta.url).pathname;

/** In this order, on an empty folder. KEY and CAP stand for what was created first. */
const lines = `
keys list
keys create --mode credit --credit 5 --label ada --owner ada@example.com --rpm 60 --tag project=atlas
keys create --mode token_budget --budget 1000 --period month --label ben --json
keys create --mode credit
keys list
keys list --csv
keys list --json
keys list nobody
keys show KEY
keys show KEY --json
keys topup KEY 2.5 --reference invoice-1
keys topup KEY 2.5 --reference invoice-1
keys topup KEY 1 --json
keys adjust KEY -1 --note mistake
keys update KEY --label Ada --tpm 60000 --models demo-small,demo-large --cap 5/day
keys raise-cap KEY 1 --note why
keys disable KEY
keys disable KEY
keys suspend KEY --json
keys enable KEY
keys rotate KEY --grace 24h
accounts list
accounts create --mode credit --label atlas --credit 100 --key-cap 5/day
accounts create --mode credit --label acme --postpaid --cap 500/month
accounts list
accounts list --csv
accounts show atlas
accounts show atlas --json
accounts topup acme 20 --reference paid
accounts adjust atlas -5 --note twice
accounts update atlas --cap 20/day
keys move KEY --account atlas
keys show KEY
keys list
accounts close acme
accounts close acme --yes
caps list
caps add 20/day --each owner
caps add 60/day --owner ada@example.com --json
caps add 40/month:claude-* --each user --optional --values 100
caps list
caps list --csv
caps list --each owner --json
caps list --near 80%
caps show CAP
caps update CAP --limit 30/day
caps raise CAP 5 --note why
caps remove CAP
caps remove CAP --yes
caps show cap_none
usage
usage --by month,owner --csv
usage --json
statement --month 2020-01
statement --month 2020-01 --csv
ledger audit
ledger audit --json
ledger export --format jsonl
ledger export --csv
ledger feed list --limit 2
ledger feed list --limit 1 --csv
ledger feed status
ledger feed resume
requests list
requests list --csv
requests show req_none
requests export
requests export --content
responses list --key KEY
responses delete --key KEY --yes
batches list
batches list --csv
batches show batch_none
batches cancel batch_none --yes
files list --key KEY
files delete --key KEY --yes
content delete --before 2026-01-01 --yes
admin-tokens create --label grafana --role viewer
admin-tokens list
admin-tokens list --csv
admin-tokens revoke grafana --yes
sessions list
sessions end --person ada@example.com --yes
sign-ins list
sign-ins revoke --person ada@example.com --yes
sign-ins allow ada@example.com
audit-log --limit 3
audit-log --search cap.add --csv
nodes
status
status --csv
alerts ack key_expiring --until 30d
store size
models list --config none.toml
config diff
config reload
keys revoke KEY
keys revoke KEY --yes
`
  .trim()
  .split("\n");

/** Ids, secrets, times and sizes differ from run to run. */
function withoutChance(text: string, folder: string): string {
  return text
    .replaceAll(folder, "FOLDER")
    .replaceAll(/\b(key|acc|cap|adm)_[A-Za-z0-9]{15,}/g, "$1_…")
    .replaceAll(/\b(slua?)_[\w-]+/g, "$1_…")
    .replaceAll(/\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?Z| \d\d:\d\d(?::\d\d)?)?/g, "DATE")
    .replaceAll(/\b\d+\.[A-Za-z0-9_-]{16}\b/g, "CURSOR")
    .replaceAll(/\b(?:in )?\d+ (?:day|hour|minute)s?(?: ago)?\b|just now|in less than a minute/g, "SPAN")
    .replaceAll(/\d+(?:\.\d)? (?:B|KiB|MiB|GiB|TiB)\b/g, "SIZE")
    .replaceAll(/ {2,}/g, "  ")
    .replaceAll(/(\bcli(?:,| {2}))[^,\n]+?(?=,| {2})/g, "$1USER");
}

/** `UPDATE_GOLDEN=1 bun test test/cli/outputs` writes the file again; read the difference before it is committed. */
test("the output of commands reads as it is written down", async () => {
  const place = newPlace();
  const env = { SLUICE_DATA: join(place.folder, "data"), HOME: place.folder };
  const known = new Map<string, string>();
  const said: string[] = [];
  for (const line of lines) {
    const words = line.split(" ").map((word) => known.get(word) ?? word);
    const { code, stdout, stderr } = await sluice({ ...place, env }, ...words);
    for (const name of ["KEY", "CAP"]) {
      const [id] = new RegExp(`\\b${name.toLowerCase()}_\\w{15,}`).exec(stdout) ?? [];
      if (id !== undefined && !known.has(name)) known.set(name, id);
    }
    said.push([`$ sluice ${line}`, stdout, stderr.replaceAll(/^(?=.)/gm, "2> "), `exit ${code}`].join("\n"));
  }
  const text = withoutChance(said.join("\n\n"), place.folder);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, "utf8"));
}, 60_000);
