/** The commands that work on the store and end: `migrate`, `apply`, `audit`, `rollups`, `prune`. Each returns what to print. */
import { countDeadLetters } from '../ledger/dead-letters.ts'
import type { Summary } from '../operations/catalogue/apply.ts'
import { read } from '../operations/read.ts'
import { pruning } from '../operations/usage/filters.ts'
import { Requests } from '../operations/usage/requests.ts'
import { readAudit } from '../operations/billing/audit.ts'
import { type CatalogFile, catalogToSend, sentCatalog } from '../catalog-file/catalog.ts'
import { ConfigError, loadConfig } from '../config/config.ts'
import { callNamed, withCalls } from './calls.ts'
import { type CommandOutput, details, DRY, progress, table } from './output.ts'
import { wantStore } from '../process/data-paths.ts'
import { NOBODY, withStore, withStoreOf } from './with-store.ts'

export async function migrateStore(configFile: string, env: NodeJS.ProcessEnv): Promise<string> {
  const config = loadConfig(configFile, env)
  await withStore(config, store => store.migrate())
  return `ok: the schema of ${withoutPassword(config.store)} is current`
}

/** `url`: the gateway that the file is sent to; without it, `config` names the store that it goes into. */
export async function apply(
  { config, url }: { config?: string | undefined; url?: string | undefined },
  file: string,
  env: NodeJS.ProcessEnv,
  { force, dry, json }: { force: boolean; dry: boolean; json: boolean },
): Promise<CommandOutput> {
  const sent = catalogToSend(file, env)
  if (config !== undefined && !(url ?? env['GATEWAY_URL'])) await makeReady(config, sentCatalog(sent), env, dry)
  let applied: Applied | null = null
  await withCalls({ config, url }, async make => {
    const body = { ...sent, force, dry_run: dry }
    applied = (await make(callNamed('catalogue.apply'), { path: {}, query: {}, body })) as Applied
  })
  const { warnings = [], ...summary } = applied as unknown as Applied
  for (const warning of warnings) console.error(`warning: ${warning}`)
  if (json) return { data: `${JSON.stringify(summary)}\n`, talk: dry ? [DRY] : [] }
  const kept = Object.values(summary).some(({ kept }) => kept.length > 0) ? [KEPT] : []
  return { data: details(describe(summary), process.stdout.isTTY), talk: [...kept, ...(dry ? [DRY] : [])] }
}

type Applied = Summary & { warnings?: string[] }

/** A store of this machine may be new, or sealed under the secret before. */
async function makeReady(
  configFile: string,
  catalog: CatalogFile,
  env: NodeJS.ProcessEnv,
  dry: boolean,
): Promise<void> {
  const config = loadConfig(configFile, env)
  if (config.secret === '' && catalog.channels.length > 0) {
    throw new ConfigError([
      `${configFile}: secret: expected a secret or an admin_token, to seal upstream keys with, found none`,
    ])
  }
  if (dry) return wantStore(config, configFile)
  await withStore(config, async store => {
    if (config.migrateOnStart || config.store.startsWith('sqlite:')) await store.migrate()
    await store.reseal()
  })
}

const KEPT = 'kept: rows that were changed in the store; the file says nothing new of them; --force writes them'

/** For every kind of row: the names of what changed, and the number of rows that did not. */
function describe(summary: Summary): Record<string, string> {
  const kinds = Object.entries(summary).map(([kind, { created, updated, kept, same }]) => {
    const changes = [named('created', created), named('updated', updated), named('kept', kept), `${same} unchanged`]
    return [kind, changes.filter(part => part !== '').join(', ')]
  })
  return Object.fromEntries(kinds)
}

const named = (verb: string, names: string[]): string => (names.length === 0 ? '' : `${verb} ${names.join(' ')}`)

export const printAudit = (
  configFile: string,
  env: NodeJS.ProcessEnv,
  json: boolean,
  terminal: boolean,
): Promise<{ data: string; talk: string[]; ok: boolean }> =>
  withStoreOf(configFile, env, async (store, config) => {
    const { row, balanced } = await readAudit({
      store,
      fleet: NOBODY,
      setAside: () => countDeadLetters(config.journal),
    })
    const { ok, set_aside: aside, broken, unfit, findings, ...sums } = row
    if (json) return { data: `${JSON.stringify(row)}\n`, talk: [], ok }
    const rows = Object.entries(sums).map(([name, value]) => [name, String(value)])
    const talk = [balanced ? 'the books balance' : `the books do not balance: ${broken} accounts`]
    for (const { account, says, expected, found, difference, mend } of findings)
      talk.push(
        `${account ?? 'all accounts'}: ${says}: expected ${expected}, found ${found} (${difference})`,
        `    mended by: ${mend}`,
      )
    if (unfit.length > 0) talk.push(`payments that do not fit: ${unfit.join(', ')}`)
    if (aside > 0)
      talk.push(`set aside in the journal folder, and not in the books: ${aside}: docs/ledger.md says what to do`)
    return { data: table([{ name: 'sum' }, { name: 'CNY', right: true }], rows, terminal), talk, ok }
  })

const asJson = (value: object): CommandOutput => ({ data: `${JSON.stringify(value)}\n`, talk: [] })

export const rebuildRollups = (configFile: string, env: NodeJS.ProcessEnv, json: boolean): Promise<CommandOutput> =>
  withStoreOf(configFile, env, async store => {
    const corrected = await store.usage.rebuildSums()
    if (json) return asJson({ corrected })
    const text =
      corrected === 0 ? 'ok: every sum is what the rows come to' : `${corrected} sums were wrong, and are right now`
    return { data: `${text}\n`, talk: [] }
  })

export const judgePruning = (before: string): void => void read(pruning, { before })

export const pruneRows = (
  configFile: string,
  env: NodeJS.ProcessEnv,
  before: string,
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<CommandOutput> =>
  withStoreOf(configFile, env, async store => {
    const requests = new Requests({ store, fleet: NOBODY })
    if (!dryRun) {
      let gone = 0
      const count = progress(() => `${gone} rows deleted`)
      const rows = await requests.prune(before, rows => {
        gone = rows
        count.show()
      })
      count.end()
      return json ? asJson({ deleted: rows }) : { data: `${rows} rows deleted\n`, talk: [] }
    }
    const would = await requests.prunable(before)
    if (json) return asJson(would)
    return { data: `${would.rows} rows would be deleted, which charged ${would.charge} CNY together\n`, talk: [] }
  })

const withoutPassword = (store: string): string => store.replace(/\/\/[^@]*@/, '//')
