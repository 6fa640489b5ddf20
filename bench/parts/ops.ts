/** Reads figures from the ops listener of a gateway. */
import type { Subject } from './subjects.ts'

const ADMIN = { authorization: 'Bearer bench-admin-token' }

/** How many statements have been sent to the store since the start: all, or those of the operation `op`. */
export async function statements(subject: Subject, op?: string): Promise<number> {
  const text = await (await fetch(`${subject.ops}/metrics`)).text()
  let sum = 0
  for (const [, labels, value] of text.matchAll(/^gateway_store_queries_total\{([^}]*)\} (\S+)/gm))
    if (op === undefined || labels === `op="${op}"`) sum += Number(value)
  return sum
}

/** Throws when the books do not add up. */
export async function audit(subject: Subject): Promise<void> {
  const answer = await fetch(`${subject.ops}/admin/audit`, { headers: ADMIN })
  const text = await answer.text()
  if (!answer.ok || (JSON.parse(text) as { ok: boolean }).ok !== true) throw new Error(`the books are wrong: ${text}`)
}
