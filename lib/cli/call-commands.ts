/**
 * The commands that are calls of the admin API: `gateway accounts list`, `gateway keys create` and their like. A command is a row of
 * `COMMANDS`, which names the call; its options are the fields that the call takes. With `--url` or GATEWAY_URL it is sent to a
 * gateway that runs, with the token of GATEWAY_ADMIN_TOKEN; else the call runs here, on the store that the config names. What is
 * typed is judged by the form of the call before a store is opened or a gateway asked.
 */
import { mapValues } from '../base/objects.ts'
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { methodOf } from '../api/operation.ts'
import { OperationError } from '../operations/error.ts'
import { expected, read, withoutNulls } from '../operations/read.ts'
import { type CallCommand, COMMANDS } from './call-rows.ts'
import { type CallFields, callNamed, filled, type MakeCall, type CallRow, type SentCall, withCalls } from './calls.ts'
import {
  URL_HELP,
  type Column,
  type CommandOutput,
  wantConfirmed,
  details,
  inCell,
  progress,
  remark,
  say,
  table,
} from './output.ts'
import type { MakeCommand } from './options.ts'

const MOST_ROWS = 1_000

/**
 * Adds the commands of `noun`, or of all nouns, and those without a noun. `under` makes one below a noun, with the options that
 * every command has, and `top` one without.
 */
export function addCalls(
  under: (noun: string) => MakeCommand,
  top: (name: string) => Command,
  noun: string | null,
): void {
  for (const row of COMMANDS) {
    const [first, ...rest] = row.typed.split(' ') as [string, ...string[]]
    if (noun !== null && first !== noun) continue
    if (row.says === undefined) addCall(top(first), row, rest)
    else addCall(under(first)(rest[0] as string, row.says), row, rest.slice(1))
  }
}

function addCall(command: Command, row: CallCommand, args: string[]): void {
  const names = args.map(text => text.slice(1, -1))
  for (const text of args) command.argument(text)
  const calls = [row.call, ...Object.values(row.instead ?? {})].map(callNamed)
  const options = optionsOf(row, calls, names)
  for (const { option } of options) command.addOption(option)
  const isList = (row.columns !== undefined && calls[0]?.effect === 'read') || asksPages(calls[0] as CallRow)
  if (isList && row.fixed?.['limit'] === undefined)
    command.option('--limit <n>', `most rows that are printed (default: ${MOST_ROWS})`, toLimit)
  if (calls[0]?.body !== undefined) command.option('--file <file>', 'fields as YAML or JSON; - is the standard input')
  if (row.manner === 'destroy') command.option('--yes', 'do not ask')
  const dry = dryField(calls[0] as CallRow) ? 'only show what would change' : 'print the call, and do not make it'
  if (calls[0]?.effect !== 'read') command.option('--dry-run', dry)
  command.option('--url <url>', URL_HELP)
  if (calls.some(call => call.answer.body !== 'stream'))
    command.option('--json', 'print JSON, as the admin API answers it')
  if (row.help !== undefined) command.addHelpText('after', row.help)
  command.action(async (...given: unknown[]) => {
    const flags = command.opts<Flags>()
    const asked = askedBy(row, options, given.slice(0, names.length), names, flags)
    if (row.manner === 'destroy' && !flags.dryRun) {
      const what = row.typed.split(' ').slice(0, 2).join(' ')
      await wantConfirmed(what, String(given[0]), flags.yes === true)
    }
    await withCalls({ ...flags, live: row.live }, make => run(make, row, asked, flags))
  })
}

interface Flags extends CallFields {
  config?: string
  url?: string
  json?: true
  yes?: true
  dryRun?: true
  file?: string
  limit?: number
}

interface FieldOption {
  name: string
  schema: z.ZodType
  option: Option
}

const shapeOf = ({ query, body }: CallRow): Record<string, z.ZodType> =>
  ((body ?? query) as z.ZodObject | undefined)?.shape as Record<string, z.ZodType>

const asksPages = (call: CallRow): boolean => (call.query as z.ZodObject | undefined)?.shape['after'] !== undefined

/** Whether the call itself knows how to only say what it would change. */
const dryField = (call: CallRow): boolean => shapeOf(call)?.['dry_run'] !== undefined

const partsOf = (call: CallRow): string[] => [...call.call.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)

const optionName = (name: string): string => `--${name.replaceAll('_', '-')}`

/** An option for each field of the calls' forms that neither an argument nor the command itself says, and for each other call. */
function optionsOf(row: CallCommand, calls: readonly CallRow[], names: readonly string[]): FieldOption[] {
  const parts = partsOf(calls[0] as CallRow)
  const said = [...names.slice(parts.length), ...Object.keys(row.fixed ?? {}), 'limit', 'after', 'dry_run']
  const fields = new Map(calls.flatMap(call => Object.entries(shapeOf(call) ?? {})))
  for (const name of [...said, row.assigns ?? '', parts.includes('name') ? 'name' : '']) fields.delete(name)
  const flags = Object.keys(row.instead ?? {}).filter(name => !fields.has(name))
  return [
    ...[...fields].map(([name, schema]) => ({ name, schema, option: optionOf(name, schema) })),
    ...flags.map(name => ({
      name,
      schema: z.boolean(),
      option: new Option(optionName(name), `all rows as ${name.toUpperCase()}`),
    })),
  ]
}

function optionOf(name: string, schema: z.ZodType): Option {
  const isFlag = schema.safeParse(true).success && !schema.safeParse(0).success
  return new Option(`${optionName(name)} ${isFlag ? '[value]' : '<value>'}`, expectationOf(schema))
}

/** The words with which the form refuses what does not fit. */
function expectationOf(schema: z.ZodType): string {
  const [issue] = schema.safeParse(Symbol('nothing fits')).error?.issues ?? []
  if (issue === undefined || issue.code === 'unrecognized_keys' || issue.code === 'invalid_union') return ''
  return expected(issue).en
}

/** What a command is told, judged. */
interface AskedCall {
  call: CallRow
  sent: SentCall
  /** The arguments by their names, with the fields. */
  all: CallFields
}

function askedBy(
  row: CallCommand,
  options: readonly FieldOption[],
  given: readonly unknown[],
  names: readonly string[],
  flags: Flags,
): AskedCall {
  const parts = partsOf(callNamed(row.call))
  const args = Object.fromEntries(names.map((name, i) => [name, given[i]]))
  const path = Object.fromEntries(parts.map((part, i) => [part, String(given[i])]))
  const others = Object.fromEntries(names.slice(parts.length).map(name => [name, args[name]]))
  const typed = optionFields(options, flags)
  const [flag, id = row.call] = Object.entries(row.instead ?? {}).find(([name]) => typed[name] !== undefined) ?? []
  const call = callNamed(id)
  if (flag !== undefined && shapeOf(call)?.[flag] === undefined) delete typed[flag]
  const fields = {
    ...(flags.json ? {} : row.defaults),
    ...fileFields(flags.file),
    ...typed,
    ...(row.assigns === undefined ? others : { [row.assigns]: assigned(given.at(-1) as string[]) }),
    ...(flags.dryRun && dryField(call) ? { dry_run: true } : {}),
    ...row.fixed,
  }
  judge(
    call,
    'name' in path && shapeOf(call)?.['name'] !== undefined ? { ...fields, name: path['name'] } : fields,
    row,
    options,
  )
  const sent = call.body === undefined ? { path, query: fields, body: {} } : { path, query: {}, body: fields }
  return { call, sent, all: { ...args, ...fields } }
}

/** Throws OperationError when the call's form does not take the fields. Of a row that is edited, the others are not known yet. */
function judge(call: CallRow, fields: CallFields, row: CallCommand, options: readonly FieldOption[]): void {
  const form = (call.body ?? call.query ?? z.strictObject({})) as z.ZodObject
  try {
    if (row.manner === 'edit') read(z.strictObject(mapValues(form.shape, one => (one as z.ZodType).nullish())), fields)
    else if (!form.safeParse(withoutNulls(fields)).success) read(form, fields)
  } catch (error) {
    if (!(error instanceof OperationError)) throw error
    const known = new Set(options.map(({ name }) => name))
    const say = (name: string) => (known.has(name) ? optionName(name) : name)
    throw new OperationError('invalid', error.message.replaceAll(/(?<=^|; )\w+(?=: )/g, say))
  }
}

/** `input=21` says a value, `input=` that there is none. */
function assigned(texts: readonly string[]): CallFields {
  const pairs = texts.map((text): [string, string | null] => {
    const at = text.indexOf('=')
    if (at < 1) throw new OperationError('invalid', `${text}: expected NAME=VALUE, like input=21`)
    return [text.slice(0, at), text.slice(at + 1) || null]
  })
  return Object.fromEntries(pairs)
}

function optionFields(options: readonly FieldOption[], flags: Flags): CallFields {
  const given = options.filter(({ option }) => flags[option.attributeName()] !== undefined)
  return Object.fromEntries(given.map(field => [field.name, fieldOf(field, flags[field.option.attributeName()])]))
}

/** The first reading of the text that the form takes: the text, YAML (numbers, null, `{input: 3}`), or a list with commas. */
function fieldOf({ option, schema }: FieldOption, given: unknown): unknown {
  if (typeof given !== 'string') return given
  const readings: (() => unknown)[] = [
    () => given,
    () => parseYaml(given),
    () => given.split(',').map(part => part.trim()),
  ]
  for (const reading of readings) {
    try {
      const value = reading()
      if (schema.safeParse(value).success) return value
    } catch {
      // no YAML: the next reading is tried
    }
  }
  const wanted = expectationOf(schema)
  throw new OperationError('invalid', `${option.long}: expected ${wanted === '' ? 'another value' : wanted}`)
}

function fileFields(file: string | undefined): CallFields {
  if (file === undefined) return {}
  const fields: unknown = parseYaml(readFileSync(file === '-' ? 0 : file, 'utf8'))
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new OperationError('invalid', `${file}: expected fields like "name: value"`)
  return fields as CallFields
}

/** Makes the call that a command means, and prints its answer. */
async function run(make: MakeCall, row: CallCommand, { call, sent, all }: AskedCall, flags: Flags): Promise<void> {
  const { path } = sent
  if (row.manner === 'create') await wantNew(make, row, path)
  if (row.manner === 'edit')
    sent.body = { ...((await make(showOf(row), { ...NOTHING, path })) as CallFields), ...sent.body }
  if (flags.dryRun && !dryField(call))
    return print({ method: methodOf(call), path: filled(call, path), body: sent.body }, flags)
  const most = Number(row.fixed?.['limit'] ?? flags.limit ?? MOST_ROWS)
  if (call.query !== undefined && shapeOf(call)?.['limit'] !== undefined && flags.limit !== undefined)
    sent.query = { ...sent.query, limit: flags.limit }
  const answer = asksPages(call) ? await allRows(make, call, sent, most) : await make(call, sent)
  if (answer === null) return
  for (const line of (answer as { warnings?: string[] }).warnings ?? []) console.error(`warning: ${line}`)
  const isMore = (answer as Page).more === true && row.fixed?.['limit'] === undefined
  const talk = isMore ? ['there are more: --limit prints more of them'] : []
  if (flags.json || all['format'] === 'json')
    return say({ data: `${JSON.stringify({ ...answer, more: undefined })}\n`, talk })
  const told = row.shows?.(answer as never, all, process.stdout.isTTY) ?? shown(answer as CallFields, row, all)
  say({ ...told, talk: [...told.talk, ...talk] })
}

const NOTHING = { query: {}, body: {} }

const showOf = ({ call }: CallCommand): CallRow => callNamed(call.replace(/\.\w+$/, '.show'))

async function wantNew(make: MakeCall, row: CallCommand, path: Record<string, string>): Promise<void> {
  const there = await make(showOf(row), { ...NOTHING, path }).catch(error => {
    if (error instanceof OperationError && error.fault === 'missing') return null
    throw error
  })
  if (there !== null) throw new OperationError('conflict', `${path['name']} is there already: \`set\` changes it`)
}

interface Page {
  data: CallFields[]
  next: string | null
  /** There are more rows than were wanted. */
  more?: boolean
}

/** Asks for pages until there are as many rows as are wanted, and one more. */
async function allRows(make: MakeCall, call: CallRow, sent: SentCall, most: number): Promise<Page> {
  const data: CallFields[] = []
  const limit = Math.min(most + 1, MOST_ROWS)
  const count = progress(() => `${data.length} rows`)
  for (let after: string | null = null; ; ) {
    const page = (await make(call, {
      ...sent,
      query: { ...sent.query, limit, ...(after === null ? {} : { after }) },
    })) as Page
    data.push(...page.data)
    count.show()
    if (page.next === null || data.length > most) {
      count.end()
      return { ...page, data: data.slice(0, most), next: null, more: data.length > most }
    }
    after = page.next
  }
}

const RIGHT = new RegExp(
  '^(?:balance|held|available|used|amount|charge(?:_usual)?|cost|margin|cost_known_share|multiplier|errors|input|cache_read|output|pieces|' +
    'status_code|credited|refunded|frozen|credit|tokens|rate|version|count|error|times|re(?:quests|fused)\\w*)$',
)
/** Texts that are of no use when they are cut. */
const WHOLE = /^(?:id|request_id|order|receiver|at|since|until|from|due_at|health\.lately|\w+_at)$/

const columnOf = (name: string, head: string, isKey: boolean): Column => ({
  name: head.replaceAll(/[_.]/g, ' '),
  isKey,
  ...(RIGHT.test(name.replace(/^.*\./, '')) ? { right: true } : {}),
  ...(WHOLE.test(name) ? { whole: true } : {}),
})

/** A list as a table, anything else as its fields. Columns that no row has are left out: that may depend on what was asked for. */
function shown(answer: CallFields, { columns, tells }: CallCommand, asked: CallFields): CommandOutput {
  const terminal = process.stdout.isTTY
  if (columns === undefined) return { data: details(withoutWarnings(answer), terminal), talk: [] }
  const { data, next: _, more: __, ...about } = answer as unknown as Page
  const wanted = (typeof columns === 'string' ? columns : columns(asked))
    .split(' ')
    .map(text => text.split('=') as [name: string, head?: string])
    .filter(([name]) => (data.length === 0 ? !name.includes('.') : data.some(row => fieldAt(row, name) !== undefined)))
  const keys = String(asked['by'] ?? '').split(',')
  const heads = wanted.map(([name, head = name], i) => columnOf(name, head, i === 0 || keys.includes(name)))
  const rows = data.map(row => wanted.map(([name]) => inCell(fieldAt(row, name))))
  const told = Object.entries(about).filter(([, value]) => value !== null)
  const said = told.map(([name, value]) => `${name.replaceAll('_', ' ')}: ${inCell(value)}`)
  const meant = terminal && data.length > 0 ? (tells?.(data, asked) ?? []).map(line => remark(line, '').trimEnd()) : []
  return { data: table(heads, rows, terminal), talk: [...(said.length === 0 ? [] : [said.join(', ')]), ...meant] }
}

/** `name` may lead into a field: `balance.amount`. */
const fieldAt = (row: CallFields, name: string): unknown =>
  name.split('.').reduce<unknown>((value, part) => (value as CallFields | null | undefined)?.[part], row)

const withoutWarnings = ({ warnings: _, ...fields }: CallFields): CallFields => fields

const print = (fields: CallFields, { json }: Flags): void =>
  say({ data: json === true ? `${JSON.stringify(fields)}\n` : details(fields, process.stdout.isTTY), talk: [] })

function toLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1) throw new InvalidArgumentError('Expected a whole number above 0.')
  return limit
}
