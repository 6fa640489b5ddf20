/**
 * What the catalogue file says of each row, as texts that are equal when the file says the same. They are made of what is
 * written, not of the records it becomes, so that a version of this program with more settings, or with other defaults,
 * finds nothing new in a file that nobody touched.
 */
import type { CatalogForm } from './config-catalog.ts'
import { isCredentialName } from './credentials.ts'

export interface RowText {
  /** Of keys: the account. */
  owner: string
  name: string
  row: string
  /** Of models: it is compared apart from the rest, so that a new ceiling does not bring an old price back. */
  price: string
  /** In clear; empty = the row has none. */
  secret: string
}

type Fields = Record<string, unknown>
/** The lists of a catalogue file. */
export const KINDS = ['groups', 'models', 'channels', 'accounts', 'keys'] as const
export type Kind = (typeof KINDS)[number]

/** `document`: the file as it is written, variables filled in; `form`: what became of it. */
export function rowTexts(document: unknown, form: CatalogForm): Record<Kind, RowText[]> {
  const written = document as Partial<Record<Kind, Fields[]>>
  const of = (kind: Kind) =>
    form[kind].map((row, i) => ({
      owner: '',
      name: row.name,
      price: '',
      secret: '',
      ...SPLIT[kind](written[kind]?.[i] ?? {}, row),
    }))
  return Object.fromEntries(KINDS.map(kind => [kind, of(kind)])) as Record<Kind, RowText[]>
}

const whole = (row: Fields) => ({ row: textOf(row) })

const SPLIT: Record<Kind, (written: Fields, row: Fields) => Partial<RowText> & { row: string }> = {
  groups: whole,
  accounts: whole,
  models: ({ price, ...rest }) => ({ row: textOf(rest), price: textOf(price) }),
  keys: ({ secret, ...rest }, { account }) => ({ owner: String(account), row: textOf(rest), secret: textOf(secret) }),
  channels: splitChannel,
}

/** Certificates are those in the file that `ca` names. */
function splitChannel({ key, keys, proxy, headers, ...rest }: Fields, { ca }: Fields) {
  const limits = Array.isArray(keys) ? keys.map(({ key: _, ...more }: Fields) => more) : undefined
  const all = Object.entries((headers ?? {}) as Fields)
  const [open, closed] = [false, true].map(secret => all.filter(([name]) => isCredentialName(name) === secret))
  return {
    row: textOf({ ...rest, ca, keys: limits, headers: Object.fromEntries(open as [string, unknown][]) }),
    secret: textOf([key, Array.isArray(keys) ? keys.map((one: Fields) => one['key']) : null, proxy, closed]),
  }
}

/** The same text whatever the order of the keys, and whether a number stands in quotes. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (typeof value !== 'object') return JSON.stringify(String(value))
  const entries = Object.entries(value).map(([name, one]) => [name, textOf(one)] as const)
  const said = entries.filter(([, text]) => text !== '' && text !== '{}').sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${said.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
}
