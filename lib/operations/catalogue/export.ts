/**
 * The catalogue of the store as a file that `apply` takes: groups, models, channels and accounts. Secrets are variables, whose names
 * stand at the head of the file, because they are for nobody who may read the file. Balances stay in the books, and of keys the store
 * knows only hashes, so neither is in it. Applied where it came from, with the variables set, it changes nothing.
 */
import { mapValues } from '../../base/objects.ts'
import { stringify } from 'yaml'
import { writtenCredential } from '../../catalog-file/channel-schema.ts'
import { showGroup, shownChannel, showModel } from '../../catalog-file/rows.ts'
import { secretHeaders } from '../../base/secrets.ts'
import type { Store } from '../../store/store.ts'
import { type Account, type Channel, showLimit } from '../../terms/records.ts'
import { withoutNulls } from '../read.ts'

/** The names of the variables that the file needs, in the order of the file. */
type Variables = Set<string>

export async function* exportCatalogue(store: Store): AsyncGenerator<string> {
  const { groups, models, channels } = await store.catalogue.read()
  const accounts = await store.accounts.list()
  const variables: Variables = new Set()
  const file = {
    groups: groups.map(group => literal(withoutNulls(showGroup(group)))),
    models: models.map(model => literal(withoutNulls(showModel(model)))),
    channels: channels.map(channel => fileChannel(channel, variables)),
    accounts: accounts.map(account => literal(withoutNulls(fileAccount(account)))),
  }
  const head = [
    'A catalogue as `gateway export` writes it; docs/catalogue.md says what each field means.',
    'Balances and keys are not in it: the store has them.',
    ...(variables.size === 0
      ? []
      : ['Variables that have to be set when it is applied:', ...[...variables].map(name => `  ${name}`)]),
  ]
  yield head.map(line => `# ${line}\n`).join('')
  yield stringify(file, { lineWidth: 0 })
}

const fileAccount = ({ name, groups, budget, sandbox }: Account) => ({
  name,
  groups,
  budget: showLimit(budget),
  sandbox,
})

function fileChannel(channel: Channel, variables: Variables): object {
  const variable = (what: string): string => {
    const name = `${channel.name}_${what}`
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replace(/^(?=\d)/, '_')
    let free = name
    for (let i = 2; variables.has(free); i++) free = `${name}_${i}`
    variables.add(free)
    return `\${${free}}`
  }
  const row = withoutNulls(shownChannel(channel))
  const keys = channel.keys.map(({ key, maxConcurrency }) => ({
    ...credential(channel, key, variable),
    ...(maxConcurrency === 0 ? {} : { max_concurrency: maxConcurrency }),
  }))
  const [only] = keys
  const isOne = keys.length === 1 && channel.keys[0]!.maxConcurrency === 0
  const headers = Object.keys(secretHeaders(channel.headers)).map(name => [name, `=${variable(name)}`])
  return {
    ...(literal(row) as object),
    ...(isOne ? only : { keys }),
    ...(Object.keys(channel.headers).length === 0
      ? {}
      : { headers: { ...(literal(row['headers']) as object), ...Object.fromEntries(headers) } }),
    ...(channel.proxy === null
      ? {}
      : { proxy: hasPassword(channel.proxy) ? variable('proxy') : literal(channel.proxy) }),
  }
}

/** What of a credential of several parts may be read by everybody. */
const PLAIN: ReadonlySet<string> = new Set(['type', 'region', 'client_email', 'token_uri'])

/** The secret parts of a credential are variables. */
function credential({ kind }: Channel, text: string, variable: (what: string) => string): object {
  const [[name, value]] = Object.entries(writtenCredential(kind, text)) as [[string, unknown]]
  if (typeof value !== 'object' || value === null) return { [name]: variable(name) }
  const parts = Object.entries(value).filter(([, part]) => part !== undefined && part !== null)
  return {
    [name]: Object.fromEntries(parts.map(([part, said]) => [part, PLAIN.has(part) ? literal(said) : variable(part)])),
  }
}

const hasPassword = (proxy: string): boolean => new URL(proxy).username !== ''

/** What the reader of the file would take for a variable is written so that it takes it as text. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('${', () => '$${')
  if (Array.isArray(value)) return value.map(literal)
  if (typeof value !== 'object' || value === null) return value
  return mapValues(value as Record<string, unknown>, literal)
}
