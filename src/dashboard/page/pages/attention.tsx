import type { FindingView } from "../../../admin/system/alert-schema.ts";
import { useAnswer } from "../api.ts";
import { count, moment } from "../format.ts";
import { Icon } from "../parts/icon.tsx";
import { hrefOf } from "../router.ts";

const shownCount = 10;

/** Where to do something about it. */
function placeOf({ subject: { type, id } }: FindingView): string {
  if (type === "key") return hrefOf(`keys/${id}`);
  if (type === "account") return hrefOf(`accounts/${id}`);
  return hrefOf(type === "provider" || type === "model" ? "models" : "system");
}

/** Red only for what is wrong now: an old price list is information. */
function toneOf(findings: readonly FindingView[]): string {
  const has = (wanted: FindingView["severity"]) => findings.some(({ severity }) => severity === wanted);
  return has("critical") ? "bad" : has("warning") ? "warn" : "info";
}

/** What somebody has to do something about, the most urgent first; each stays until it is over. */
export function Attention() {
  const attention = useAnswer<{ data: FindingView[] }>("/alerts", 5000);
  const findings = attention.value?.data ?? [];
  if (findings.length === 0) return null;
  const rest = findings.length - shownCount;
  return (
    <section class={`callout ${toneOf(findings)}`} aria-labelledby="needs-attention">
      <Icon name="warning" />
      <div role="alert">
        <h2 id="needs-attention">Needs attention</h2>
        <ul>
          {findings.slice(0, shownCount).map((finding) => (
            <li key={`${finding.kind} ${finding.subject.id} ${finding.text}`}>
              <a href={placeOf(finding)}>{finding.text}</a>
              {finding.since && <small> since {moment(finding.since)}</small>}
              {finding.last_error && <small> · “{finding.last_error}”</small>}
            </li>
          ))}
        </ul>
        {rest > 0 && (
          <p>
            and {count(rest)} more, which <code>sluice status</code> lists
          </p>
        )}
      </div>
    </section>
  );
}
