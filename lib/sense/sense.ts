/**
 * Sense: rules that find what can be used and is probably not meant, because it costs money, shows secrets or serves nobody.
 * Whatever changes the config or the catalogue asks them: commands, the start, reloads, the admin API, imports of prices.
 *
 * What a rule of the severity `refused` finds must not come into force. It may stay in force where it is already, because a
 * restart must not stop a service that runs; and it may come into force when an operator accepts it, by the rule's name in
 * `accept`, or by `--force`.
 */
import { isDeepStrictEqual } from 'node:util'
import { oneOfThese, type RowName, type SenseFinding } from '../config/yaml.ts'
import { CHANNEL_RULES } from './channel-rules.ts'
import { CONFIG_RULES } from './config-rules.ts'
import { KEY_RULES } from './key-rules.ts'
import { PRICE_RULES } from './price-rules.ts'
import { type Found, inCatalog, inConfig, type Rule } from './rule.ts'
import { type Seen, Sight } from './sight.ts'

export { type Machine, NOTHING_SEEN, type Seen } from './sight.ts'

export const RULES: readonly Rule[] = [...PRICE_RULES, ...CHANNEL_RULES, ...KEY_RULES, ...CONFIG_RULES]

const NAMES = RULES.map(({ name }) => name)

interface Judgement {
  /** What must not come into force. */
  refused: SenseFinding[]
  /** What may, and is probably not meant. */
  warned: SenseFinding[]
}

export interface Accepted {
  config: readonly string[]
  catalog: readonly string[]
}

export interface Wanted {
  /** What is in force now; null = nothing is, or that is not known. */
  before: Seen | null
  /** What shall be in force. */
  after: Seen
  /** Names of rules, or `RULE:ROW` for one row only, as the two files have them. */
  accept: Accepted
  /** Whatever would be refused is warned of. */
  force: boolean
}

export function judge({ before, after, accept, force }: Wanted): Judgement {
  const accepted = [...accept.config, ...accept.catalog]
  const found = findingsIn(after).filter(finding => !isAccepted(finding, accepted))
  const there = before === null ? [] : findingsIn(before)
  const isNew = (finding: SenseFinding): boolean =>
    !there.some(one => isSame(one, finding)) && (before === null || isChanged(finding, before, after))
  const refused = force ? [] : found.filter(finding => finding.severity === 'refused' && isNew(finding))
  return { refused, warned: [...found.filter(finding => !refused.includes(finding)), ...unknownRules(accept)] }
}

const findingsIn = (seen: Seen): SenseFinding[] => {
  const sight = new Sight(seen)
  return RULES.flatMap(({ name, severity, find }) =>
    [...find(sight)].map(found => ({ rule: name, severity, ...found })),
  )
}

const isAccepted = ({ rule, row }: SenseFinding, accept: readonly string[]): boolean =>
  accept.includes(rule) || (row !== null && accept.includes(`${rule}:${row.name}`))

const isSame = (a: SenseFinding, b: SenseFinding): boolean =>
  a.rule === b.rule && isDeepStrictEqual([a.row, a.path, a.value], [b.row, b.path, b.value])

/** Whether a row that the finding is about becomes another one. What is about the config only is always new. */
function isChanged({ row, others = [] }: SenseFinding, before: Seen, after: Seen): boolean {
  if (row === null) return true
  return [row, ...others].some(name => !isDeepStrictEqual(rowOf(before, name), rowOf(after, name)))
}

const rowOf = (seen: Seen, { kind, name }: RowName): unknown =>
  (seen[kind] as readonly { name: string; account?: string }[]).find(
    row => (kind === 'keys' ? `${row.account}/${row.name}` : row.name) === name,
  )

/** A name in `accept` that is no rule accepts nothing, which its author should know. */
const unknownRules = ({ config, catalog }: Accepted): SenseFinding[] =>
  [...unknownIn(config, inConfig), ...unknownIn(catalog, inCatalog)].map(found => ({
    rule: 'accept',
    severity: 'warned',
    ...found,
  }))

const unknownIn = (accept: readonly string[], place: typeof inCatalog): Found[] =>
  accept.flatMap((entry, i) => {
    const name = entry.split(':')[0] as string
    return NAMES.includes(name) ? [] : [place(['accept', i], oneOfThese(name, NAMES), entry)]
  })

/** How to have one's way, behind a list of what was refused. */
export const HOW_TO_ACCEPT =
  'refused by the rules in brackets (docs/sense.md); what is meant can be accepted: `accept: [RULE]` or `accept: [RULE:NAME]` in the file, or --force'

/** A finding about a row that stands in no file: of the store, or of a call. */
export const describe = ({ row, path, expected, rule }: SenseFinding): string => {
  const where = [...(row === null ? [] : [row.kind.slice(0, -1), row.name]), ...path].map(String)
  return `${where.join(row === null ? '.' : ' ').trim()}: expected ${expected} [${rule}]`
}
