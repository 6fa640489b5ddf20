/**
 * Turns each row of a catalogue file into a canonical text, so that applying a file can tell which rows changed since
 * the file was last applied. The text is made of what is written in the file, not of the record that results, so that a
 * newer version of this program, with more settings or other defaults, sees no change in a file that nobody edited.
 */
import type { CatalogForm } from './catalog-schema.ts'
import { isCredentialName } from '../base/secrets.ts'

export interface RowText {
  /** The account of a key; empty for all other rows. */
  owner: string
  name: string
  /** Everything that is not in `price` or `secret`. */
  row: string
  /** The price of a model, compared apart from the rest, so that a new `max_output` does not restore an old price. */
  price: string
  /** The secrets of the row, unencrypted; empty = the row has none. */
  secret: string
}

type Fields = Record<string, unknown>
/** The lists of a catalogue file. */
export const KINDS = ['groups', 'models', 'channels', 'accounts', 'keys'] as const
export type Kind = (typeof KINDS)[number]

/** `document` is the file as it is written, with variables filled in; `form` is the same parsed by the schema. */
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

/**
 * Splits a channel into secrets and the rest. `ca` is taken from the parsed form: the certificates, not their file's
 * name.
 */
function splitChannel({ key, service_account, aws, keys, proxy, headers, ...rest }: Fields, { ca }: Fields) {
  const rows = Array.isArray(keys) ? (keys as Fields[]) : undefined
  const limits = rows?.map(({ key: _, service_account: __, aws: ___, ...more }) => more)
  const signing = [{ service_account, aws }, ...(rows ?? [])]
    .flatMap(row => [row['service_account'], row['aws']])
    .filter(one => one !== undefined)
  const all = Object.entries((headers ?? {}) as Fields)
  const [open, closed] = [false, true].map(secret => all.filter(([name]) => isCredentialName(name) === secret))
  return {
    row: textOf({ ...rest, ca, keys: limits, headers: Object.fromEntries(open as [string, unknown][]) }),
    // a channel with a plain key has the text that it had before there were other credentials
    secret: textOf([key, rows?.map(one => one['key']), proxy, closed, ...(signing.length === 0 ? [] : [signing])]),
  }
}

/** A canonical text: the order of keys, and quotes around a number, make no difference. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value)) return `[${value.map(textOf).join()}]`
  if (typeof value !== 'object') return JSON.stringify(String(value))
  const entries = Object.entries(value).map(([name, one]) => [name, textOf(one)] as const)
  const said = entries.filter(([, text]) => text !== '' && text !== '{}').sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${said.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`
}
