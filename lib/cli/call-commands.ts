/**
 * The commands that are calls of the admin API: `gateway accounts list`, `gateway keys create` and their like. A command is a row of
 * `COMMANDS`, which names the call; its options are the fields that the call takes. With `--url` or GATEWAY_URL it is sent to a
 * gateway that runs, with the token of GATEWAY_ADMIN_TOKEN; else the call runs here, on the store that the config names.
 */
import { readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { methodOf } from '../api/operation.ts'
import { OperationError } from '../operations/error.ts'
import { expected } from '../operations/read.ts'
import { type CallCommand, COMMANDS, EXPORT } from './call-rows.ts'
import { type CallFields, filled, type MakeCall, type CallRow, callNamed, type SentCall, withCalls } from './calls.ts'
import { wantConfirmed, say, table } from './output.ts'

const MOST_ROWS = 1_000

/** Adds the commands of `noun`, or of all nouns. `under` makes one below a noun, with the options that every command has. */
export function addCalls(under: (noun: string) => (name: string, says: string) => Command, noun: string | null): void {
  for (const command of COMMANDS) {
    const [first, ...rest] = command.typed.split(' ') as [string, ...string[]]
    if (noun === null || first === noun) addCall(under(first)(rest[0] as string, command.says), command, rest.slice(1))
  }
}

export const addExport = (top: (name: string, says: string) => Command): void =>
  addCall(top(EXPORT.typed, EXPORT.says), EXPORT, [])

function addCall(command: Command, row: CallCommand, args: string[]): void {
  const names = args.map(text => text.slice(1, -1))
  for (const text of args) command.argument(text)
  const options = optionsOf(row, names)
  for (const { option } of options) command.addOption(option)
  if (row.columns !== undefined)
    command.option('--limit <n>', `most rows that are printed (default: ${MOST_ROWS})`, toLimit)
  if (callNamed(row.call).body !== undefined)
    command.option('--file <file>', 'fields as YAML or JSON; - is the standard input')
  if (row.manner === 'destroy') command.option('--yes', 'do not ask')
  if (callNamed(row.call).effect !== 'read') command.option('--dry-run', 'print the call, and do not make it')
  command
    .option('--url <url>', 'ops address of a gateway to ask (default: GATEWAY_URL, or the store of the config)')
    .option('--json', 'print JSON, as the admin API answers it')
    .action(async (...given: unknown[]) => {
      const flags = command.opts<Flags>()
      const values = names.map((name, i) => [name, given[i]] as const)
      const fields = { ...fileFields(flags.file), ...optionFields(options, flags), ...row.fixed }
      await withCalls(flags, async make =>
        run(make, row, { ...Object.fromEntries(values) } as CallFields, fields, flags),
      )
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

/** An option for each field of the call's form that neither an argument nor the command itself says. */
function optionsOf({ call, fixed = {} }: CallCommand, names: readonly string[]): FieldOption[] {
  const { query, body } = callNamed(call)
  const { shape } = (body ?? query ?? z.object({})) as z.ZodObject
  const others = Object.entries(shape).filter(
    ([name]) => ![...names, ...Object.keys(fixed), 'limit', 'after', 'name'].includes(name),
  )
  return others.map(([name, schema]) => ({
    name,
    schema: schema as z.ZodType,
    option: new Option(`--${name.replaceAll('_', '-')} <value>`, expectationOf(schema as z.ZodType)),
  }))
}

/** The words with which the form refuses what does not fit. */
function expectationOf(schema: z.ZodType): string {
  const [issue] = schema.safeParse(Symbol('nothing fits')).error?.issues ?? []
  if (issue === undefined || issue.code === 'unrecognized_keys' || issue.code === 'invalid_union') return ''
  return expected(issue).en
}

function optionFields(options: readonly FieldOption[], flags: Flags): CallFields {
  const given = options.filter(({ option }) => typeof flags[option.attributeName()] === 'string')
  return Object.fromEntries(
    given.map(field => [field.name, fieldOf(field, flags[field.option.attributeName()] as string)]),
  )
}

/** The first reading of the text that the form takes: the text, YAML (numbers, null, `{input: 3}`), or a list with commas. */
function fieldOf({ option, schema }: FieldOption, text: string): unknown {
  const readings: (() => unknown)[] = [
    () => text,
    () => parseYaml(text),
    () => text.split(',').map(part => part.trim()),
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
async function run(
  make: MakeCall,
  command: CallCommand,
  args: CallFields,
  fields: CallFields,
  flags: Flags,
): Promise<void> {
  const row = callNamed(command.call)
  const inPath = [...row.call.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const names = Object.fromEntries(inPath.map(name => [name, String(args[name])]))
  const ofBody = Object.fromEntries(Object.entries(args).filter(([name]) => !inPath.includes(name)))
  const sent: SentCall =
    row.body === undefined ? { names, query: fields, body: {} } : { names, query: {}, body: { ...fields, ...ofBody } }
  if (command.columns !== undefined)
    return printList(await allRows(make, row, sent, flags.limit), command.columns, flags)
  if (command.manner === 'create') await wantNew(make, command, names)
  if (command.manner === 'edit')
    sent.body = {
      ...((await make(callNamed(showOf(command)), { names, query: {}, body: {} })) as CallFields),
      ...sent.body,
    }
  if (flags.dryRun) return print({ method: methodOf(row), path: filled(row, names), body: sent.body }, flags)
  if (command.manner === 'destroy')
    await wantConfirmed(
      command.typed.split(' ').slice(0, 2).join(' '),
      Object.values(names)[0] as string,
      flags.yes === true,
    )
  print(await make(row, sent), flags)
}

const showOf = ({ call }: CallCommand): string => call.replace(/\.\w+$/, '.show')

async function wantNew(make: MakeCall, command: CallCommand, names: Record<string, string>): Promise<void> {
  const there = await make(callNamed(showOf(command)), { names, query: {}, body: {} }).catch(error => {
    if (error instanceof OperationError && error.fault === 'missing') return null
    throw error
  })
  if (there !== null) throw new OperationError('conflict', `${names['name']} is there already: \`set\` changes it`)
}

interface Page {
  data: CallFields[]
  next: string | null
  /** What the answer says of all rows together. */
  about: CallFields
}

/** Asks for pages until there are as many rows as are wanted. What has no pages is told how many. */
async function allRows(make: MakeCall, row: CallRow, sent: SentCall, asked: number | undefined): Promise<Page> {
  const { after: pages, limit } = (row.query as z.ZodObject | undefined)?.shape ?? {}
  const most = asked ?? MOST_ROWS
  if (pages === undefined) {
    const query = { ...sent.query, ...(asked === undefined || limit === undefined ? {} : { limit: asked }) }
    const { data, ...about } = (await make(row, { ...sent, query })) as Page
    return {
      data: data.slice(0, most),
      next: data.length > most ? 'more' : null,
      about: about as unknown as CallFields,
    }
  }
  const data: CallFields[] = []
  for (let after: string | null = null; ; ) {
    const query = { ...sent.query, ...(after === null ? {} : { after }) }
    const page = (await make(row, { ...sent, query })) as Page
    data.push(...page.data)
    if (page.next === null || data.length >= most)
      return { data: data.slice(0, most), next: data.length > most ? 'more' : page.next, about: {} }
    after = page.next
  }
}

const RIGHT =
  /^(?:balance|held|available|used|amount|charge|multiplier|status_code|count|error|times|re(?:quests|fused)\w*)$/

/** Columns that no row has are left out: what a row has may depend on what was asked for. */
function printList({ data, next, about }: Page, columns: string, { json }: Flags): void {
  const names = columns.split(' ').filter(name => data.length === 0 || data.some(row => row[name] !== undefined))
  const cells = table(
    names.map(name => ({ name: name.replaceAll('_', ' '), ...(RIGHT.test(name) ? { right: true } : {}) })),
    data.map(row => names.map(name => cell(row[name]))),
    process.stdout.isTTY,
  )
  const said = Object.entries(about).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${cell(value)}`)
  const talk = [
    ...(said.length === 0 || json === true ? [] : [said.join(', ')]),
    ...(next === null ? [] : ['there are more: --limit prints more of them']),
  ]
  say(json === true ? { data: `${JSON.stringify({ ...about, data })}\n`, talk } : { data: cells, talk })
}

/** Lists and maps in one cell, much as the options take them. Of a map to the same names, the names are enough. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.map(cell).join(',')
  if (typeof value !== 'object') return String(value)
  const { name } = value as { name?: unknown }
  if (typeof name === 'string') return name
  return Object.entries(value)
    .map(([name, part]) => (name === part ? name : `${name}: ${cell(part)}`))
    .join(', ')
}

function print(answer: unknown, { json }: Flags): void {
  if (answer === null) return
  const fields = Object.entries(answer as CallFields)
  const lines = fields.map(
    ([name, value]) => `${name}\t${typeof value === 'object' && value !== null ? JSON.stringify(value) : value}\n`,
  )
  say({ data: json === true ? `${JSON.stringify(answer)}\n` : lines.join(''), talk: [] })
}

function toLimit(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1) throw new InvalidArgumentError('Expected a whole number above 0.')
  return limit
}
