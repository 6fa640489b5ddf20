/**
 * The commands that look after a store, take price lists and try ways to pay, with their options. What they do stands in
 * `store-commands.ts`, `backup.ts`, `price-commands.ts` and `pay-commands.ts`, each of which is loaded when its command runs.
 */
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { MINUTE_MS } from '../base/clock.ts'
import { cny, duration } from '../config/scalars.ts'
import type { ListFormat } from '../operations/catalogue/price-import.ts'
import { PAY_METHODS } from '../terms/pay.ts'
import { say, URL_HELP, wantConfirmed } from './output.ts'
import type { ImportFlags } from './price-commands.ts'

/** Makes a command, below a noun where there is one. */
export type MakeCommand = (name: string, description: string) => Command

/** Reads the duration of an option, in ms. `like`: what a wrong one is answered with. */
export const toMs =
  (like: string) =>
  (text: string): number => {
    const ms = duration().safeParse(text)
    if (!ms.success) throw new InvalidArgumentError(`Expected a duration like ${like}.`)
    return ms.data
  }

// --- upkeep of a store

interface UpkeepFlags {
  config: string
  before: string
  json?: true
  dryRun?: true
  yes?: true
}

/** `group` makes a command that only has commands of its own. */
export function addUpkeep(command: MakeCommand, group: (name: string, description: string) => MakeCommand): void {
  group('rollups', 'the sums of usage')('rebuild', 'put sums right that are not what the rows come to')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: UpkeepFlags) => {
      const { rebuildRollups } = await import('./store-commands.ts')
      say(await rebuildRollups(config, process.env, json === true))
    })
  command('backup', 'copy the embedded store into a file, also while a gateway serves, and check the copy')
    .argument('<file>', 'where to; it must not be there yet')
    .option('--json', 'print JSON')
    .action(async (file: string, { config, json }: UpkeepFlags) => {
      const { backupStore } = await import('./backup.ts')
      say(await backupStore(config, process.env, file, json === true))
    })
  command('prune', 'delete old usage rows; what they charged stays in the books')
    .requiredOption('--before <time>', 'rows of requests that arrived before it')
    .option('--dry-run', 'only say what would be deleted')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async ({ config, before, dryRun, yes, json }: UpkeepFlags) => {
      const { judgePruning, pruneRows } = await import('./store-commands.ts')
      judgePruning(before)
      if (dryRun !== true) await wantConfirmed('prune', before, yes === true)
      const how = { dryRun: dryRun === true, json: json === true }
      say(await pruneRows(config, process.env, before, how))
    })
}

// --- ways to pay

interface PayDoctorFlags {
  config: string
  account: string
  amount?: string
  refund?: true
  wait: number
  yes?: true
}

const DEFAULT_WAIT_MS = 15 * MINUTE_MS

export function addPay(command: MakeCommand): void {
  command('doctor', 'walk one small order through a way to pay, and say what works and what does not')
    .addArgument(new Argument('<method>', 'the way to pay').choices(PAY_METHODS))
    .requiredOption('--account <name>', 'whom the money is credited to')
    .option('--amount <cny>', 'amount of the order (default: the least of the method)', toAmount)
    .option('--refund', 'send the money back at the end')
    .option('--wait <duration>', 'how long you take to pay (default: 15m)', toMs('30s or 5m'), DEFAULT_WAIT_MS)
    .option('--yes', 'do not ask before the order is made')
    .action(async (method: string, flags: PayDoctorFlags) => {
      const { account, amount = null, refund = false, wait, yes = false, config } = flags
      const { payDoctor } = await import('./pay-commands.ts')
      const wanted = { method, account, amount, refund, waitMs: wait, yes }
      if (!(await payDoctor(config, process.env, wanted))) process.exitCode = 1
    })
}

function toAmount(text: string): string {
  if (!cny.safeParse(text).success) throw new InvalidArgumentError('Expected an amount of CNY.')
  return text
}

// --- price lists

const FORCE = 'also what the rules of sense refuse'

const FORMATS = `
Formats (default: by the end of the file's name, .csv, .yaml or .yml for gateway, else litellm):
  litellm  LiteLLM's model_prices_and_context_window.json, in USD
  gateway  models with name and price, as in a catalogue file or as prices list --json prints them
  csv      a header line with "model" and names of prices as prices set takes them, then a line for each model

Each amount of the list is multiplied by rate and factor and rounded up at the sixth place. The price of a model
becomes what the list says; what the list does not name is taken away. Of LiteLLM's list, models of which
everything is free are skipped. When something in a list is wrong, nothing is imported.`

export function addImport(command: MakeCommand): void {
  command('import', 'take the prices of a list; models that do not exist are made')
    .option('--json', 'print JSON')
    .argument('<file>', 'price list of at most 20 MiB')
    .addOption(
      new Option('--format <format>', 'form of the list').choices(['litellm', 'gateway', 'csv'] satisfies ListFormat[]),
    )
    .option('--rate <cny>', "CNY for one unit of the list's currency (default: 1; needed for litellm)")
    .option('--factor <factor>', 'factor on every price', '1')
    .option('--match <glob>', 'only models with such names: * stands for any characters, ? for one')
    .option('--existing', 'make no models')
    .option('--free', "take models of which everything is free in LiteLLM's list")
    .option('--dry-run', 'only show what would change')
    .option('--force', FORCE)
    .option('--url <url>', URL_HELP)
    .addHelpText('after', FORMATS)
    .action(async (file: string, flags: ImportFlags) => {
      const { importPrices } = await import('./price-commands.ts')
      say(await importPrices(file, flags))
    })
}
