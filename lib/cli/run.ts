/** Commands and their options. Wrong usage exits 2 with help, an expected failure 1 with one clear line for each problem. */
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { parseListener } from '../terms/config-scalars.ts'
import { explain } from './failure.ts'

interface ConfigOption {
  config: string
}

interface SimulateFlags {
  listen: { host: string; port: number }
  latency: number
  tokensPerSecond: number
  errorRate: number
  seed: number
}

/** Runs one command; ends the process when it failed. `serve`, `demo` and `simulate` go on after this resolves. */
export async function run(args: string[], root: string): Promise<void> {
  const program = createProgram(root)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.code === 'commander.unknownCommand') program.outputHelp({ error: true })
      process.exit(error.exitCode === 0 ? 0 : 2)
    }
    process.stderr.write(`${explain(error)}\n`)
    process.exit(1)
  }
}

function createProgram(root: string): Command {
  const program = new Command('gateway')
    .description('One address and one key in front of many model providers.')
    .exitOverride()
    .helpCommand(false)
  const command = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .option('--config <file>', 'config file', `${root}config/gateway.yaml`)

  command('serve', 'serve until told to stop: SIGTERM and SIGINT drain, SIGHUP reloads').action(
    async ({ config }: ConfigOption) => {
      const { loadConfig } = await import('../terms/config.ts')
      const { serve } = await import('../serve.ts')
      await serve(loadConfig(config, process.env), { configFile: config, env: process.env })
    },
  )
  command('check', 'validate the config and the catalogue it names').action(async ({ config }: ConfigOption) => {
    const { check } = await import('./check.ts')
    console.log(check(config, process.env))
  })
  command('migrate', 'create or upgrade the schema of the store').action(async ({ config }: ConfigOption) => {
    const { migrate } = await import('./store-commands.ts')
    console.log(await migrate(config, process.env))
  })
  command('apply', 'upsert a catalogue file into the store; running gateways follow within a second')
    .argument('<file>', 'catalogue file')
    .action(async (file: string, { config }: ConfigOption) => {
      const { apply } = await import('./store-commands.ts')
      console.log(await apply(config, file, process.env))
    })
  command('audit', 'check the books in the store; exit 1 on any imbalance')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: ConfigOption & { json?: true }) => {
      const { audit } = await import('./store-commands.ts')
      const { text, ok } = await audit(config, process.env, json === true)
      console.log(text)
      if (!ok) process.exitCode = 1
    })
  addSimulate(command('simulate', 'a simulated upstream that speaks all five protocols (reads no config)'))
  command('demo', 'serve with everything a first request needs: an upstream, an admin token and a key').action(
    async ({ config }: ConfigOption) => {
      const { demo } = await import('../demo.ts')
      await demo({ configFile: config, env: process.env })
    },
  )
  return program
}

function addSimulate(command: Command): void {
  command
    .option('--listen <host:port>', 'address to listen on', toListener, { host: '127.0.0.1', port: 3999 })
    .option('--latency <ms>', 'time before the first byte of an answer', toNumber(0, 3_600_000), 0)
    .option('--tokens-per-second <n>', 'pace of streamed answers; 0 = as fast as possible', toNumber(0, 1_000_000), 0)
    .option('--error-rate <fraction>', 'share of requests that fail, from 0 to 1', toNumber(0, 1), 0)
    .option('--seed <n>', 'makes chance repeatable', toNumber(0, 2 ** 32 - 1), 1)
    .action(async (flags: SimulateFlags) => {
      const { simulate } = await import('../simulator/main.ts')
      const { url } = await simulate({
        listen: flags.listen,
        latencyMs: flags.latency,
        tokensPerSecond: flags.tokensPerSecond,
        errorRate: flags.errorRate,
        seed: flags.seed,
      })
      console.log(`simulated upstream on ${url}`)
    })
  const option = command.options.find(o => o.long === '--listen')
  option?.default(option.defaultValue, '127.0.0.1:3999')
}

function toListener(text: string): { host: string; port: number } {
  const listener = parseListener(text)
  if (listener === undefined) throw new InvalidArgumentError('Expected host:port.')
  return listener
}

const toNumber = (least: number, most: number) => (text: string) => {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most)) throw new InvalidArgumentError(`Expected a number from ${least} to ${most}.`)
  return number
}
