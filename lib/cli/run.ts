/**
 * The commands of the command line and their options. Each command loads only the code that it needs, so that it starts
 * quickly.
 */
import { addDoctor } from './doctor-options.ts'
import { EXIT, endFailed } from './failure.ts'
import { say, URL_HELP } from './output.ts'
import { CONFIG_PLACES, findConfig, serveFrom } from './serve.ts'
import { addImport, addPay, addUpkeep, type MakeCommand, toMs } from './options.ts'
import { Argument, Command, CommanderError, InvalidArgumentError } from 'commander'
import { VERSION } from '../base/version.ts'
import { type Listener, parseListener } from '../config/scalars.ts'

interface ConfigOption {
  config: string
}

interface ApplyFlags extends Partial<ConfigOption> {
  url?: string
  force?: true
  dryRun?: true
  json?: true
}

interface SimulateFlags {
  listen?: Listener
  /** ms */
  latency?: number
  tokensPerSecond?: number
  errorRate?: number
  seed?: number
}

const CONFIG_HELP = `config file (default: GATEWAY_CONFIG, or the first there is of ${CONFIG_PLACES.join(', ')})`

/**
 * Runs one command, and ends the process when it failed. `serve`, `demo` and `simulate` go on working after this has
 * resolved.
 */
export async function runCommand(args: string[], root: string): Promise<void> {
  try {
    const program = await createProgram(args, root)
    // of `help`, commander reads one word only
    const asked = args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : args
    await program.parseAsync(asked, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exit(error.exitCode === 0 ? 0 : EXIT.usage)
    }
    endFailed(error)
  }
}

/** Nouns whose commands are calls of the admin API (`call-commands.ts`), with what the list of commands says of them. */
const NOUNS: Readonly<Record<string, string>> = {
  accounts: 'who pays: balance, limits, groups',
  keys: 'the keys of accounts',
  models: 'what is sold, and at which price',
  groups: 'prices and limits that accounts have in common',
  channels: 'upstreams, and what they are asked for',
  requests: 'requests, and why one was refused',
  refusals: 'requests that were refused, and why',
  senders: 'who sends more than usual',
  actions: 'who changed what',
  users: 'the people who sign in to the console',
  prices: 'what models cost, and have cost',
  orders: 'payments of people: orders, refunds, and what waits for a person',
  pay: 'the ways to pay',
}

/** Commands of that kind without a noun. */
const CALLS: Readonly<Record<string, string>> = {
  usage: 'show the newest requests, totals with cost and margin with --by, or export all with --csv or --jsonl',
  statement: "print an account's month: opening balance, entries, charges by day, closing balance",
  export: 'write the catalogue as YAML, with variables for secrets',
}

const NO_CONFIG: ReadonlySet<string> = new Set(['simulate', 'completion'])

/** The config that an action reads, when its options name none. */
function giveConfig(action: Command, root: string): void {
  const {
    config,
    url = process.env['GATEWAY_URL'],
    base,
  } = action.opts<{ config?: string; url?: string; base?: string }>()
  const asksGateway = url && action.options.some(option => option.long === '--url')
  if (config !== undefined || asksGateway || NO_CONFIG.has(action.name()) || base !== undefined) return
  action.setOptionValue('config', action.name() === 'demo' ? `${root}config/gateway.yaml` : findConfig(process.env))
}

async function createProgram(args: readonly string[], root: string): Promise<Command> {
  const program = new Command('gateway')
    .description('One address and one key in front of many model providers.')
    .version(VERSION, '-v, --version', 'print the version')
    .exitOverride()
    .showHelpAfterError('(`gateway help` lists the commands)')
    .helpCommand('help [command]', 'print the help of a command')
    .hook('preAction', (_, action) => giveConfig(action, root))
  const under = (parent: Command) => (name: string, description: string) =>
    parent.command(name).description(description).option('--config <file>', CONFIG_HELP)
  const command = under(program)

  command('serve', 'serve until told to stop: SIGTERM and SIGINT drain, SIGHUP reloads').action(
    ({ config }: ConfigOption) => serveFrom(config),
  )
  command('check', 'validate the config and the catalogue it names')
    .option('--force', 'only warn of what the rules of sense refuse')
    .action(async ({ config, force }: ConfigOption & { force?: true }) => {
      const { check } = await import('./check.ts')
      const { text, warnings, refused } = await check(config, process.env, force === true)
      for (const warning of warnings) console.error(`warning: ${warning}`)
      if (refused.length > 0) {
        const { throwRefused } = await import('../operations/catalogue/judging.ts')
        throwRefused(refused)
      }
      console.log(text)
    })
  addStoreCommands(command)
  const groups = new Map<string, Command>()
  const group = (name: string, description: string) => {
    const parent = groups.get(name) ?? program.command(name).description(description).helpCommand(false)
    groups.set(name, parent)
    return under(parent)
  }
  for (const [noun, says] of Object.entries(NOUNS)) group(noun, says)
  const asked = args.find(word => !word.startsWith('-') && word !== 'help')
  const isAll = asked === 'completion'
  const isCall = asked !== undefined && (asked in NOUNS || asked in CALLS)
  const calls = isAll || isCall ? await import('./call-commands.ts') : null
  const tops = new Map(Object.entries(CALLS).map(([name, says]) => [name, command(name, says)]))
  calls?.addCalls(
    noun => group(noun, ''),
    name => tops.get(name) as Command,
    isAll ? null : (asked as string),
  )
  addUpkeep(command, group)
  addImport(group('prices', ''))
  addPay(group('pay', ''))
  addDoctor(command)
  addSimulate(command('simulate', 'a simulated upstream that speaks the protocols of the gateway (reads no config)'))
  command('demo', 'serve with everything a first request needs: an upstream, an admin token and a key').action(
    async ({ config }: ConfigOption) => {
      const { demo } = await import('../process/demo.ts')
      await demo({ configFile: config, env: process.env })
    },
  )
  program
    .command('completion')
    .description('print a script that completes commands in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completion } = await import('./completion.ts')
      process.stdout.write(completion(program, shell))
    })
  return program
}

function addStoreCommands(command: MakeCommand): void {
  command('migrate', 'make the tables of the store, unless they are there').action(async ({ config }: ConfigOption) => {
    const { migrateStore } = await import('./store-commands.ts')
    console.log(await migrateStore(config, process.env))
  })
  command('apply', 'upsert a catalogue file into the store; running gateways follow within a second')
    .argument('<file>', 'catalogue file')
    .option(
      '--force',
      'write every row, also those that were changed or deleted since, and what the rules of sense refuse',
    )
    .option('--dry-run', 'only show what would change')
    .option('--url <url>', URL_HELP)
    .option('--json', 'print JSON')
    .action(async (file: string, { config, url, force, dryRun, json }: ApplyFlags) => {
      const { apply } = await import('./store-commands.ts')
      const how = { force: force === true, dry: dryRun === true, json: json === true }
      say(await apply({ config, url }, file, process.env, how))
    })
  command('audit', 'check the books in the store; exit 1 on any imbalance')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: ConfigOption & { json?: true }) => {
      const { printAudit } = await import('./store-commands.ts')
      const { ok, ...said } = await printAudit(config, process.env, json === true, process.stdout.isTTY)
      say(said)
      if (!ok) process.exitCode = 1
    })
}

function addSimulate(command: Command): void {
  command
    .option('--listen <host:port>', 'address to listen on (default: 127.0.0.1:3999)', toListener)
    .option('--latency <duration>', 'time before the first byte of an answer', toMs('250ms or 5s'))
    .option('--tokens-per-second <n>', 'pace of streamed answers', toNumber(0, 1_000_000))
    .option('--error-rate <fraction>', 'share of requests that fail, from 0 to 1', toNumber(0, 1))
    .option('--seed <n>', 'makes chance repeatable', toNumber(0, 2 ** 32 - 1))
    .action(async ({ listen = { host: '127.0.0.1', port: 3999 }, latency, ...chances }: SimulateFlags) => {
      const { simulate } = await import('../../tools/simulator/main.ts')
      const { url } = await simulate({ listen, ...(latency === undefined ? {} : { latencyMs: latency }), ...chances })
      console.log(`simulated upstream on ${url}`)
    })
}

function toListener(text: string): Listener {
  const listener = parseListener(text)
  if (listener === undefined) throw new InvalidArgumentError('Expected host:port.')
  return listener
}

const toNumber = (least: number, most: number) => (text: string) => {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most))
    throw new InvalidArgumentError(`Expected a number from ${least} to ${most}.`)
  return number
}
