/** The commands about usage and their options; `usage-commands.ts` does what they say. */
import type { Command } from 'commander'
import { wantConfirmed, say } from './output.ts'

type MakeCommand = (name: string, description: string) => Command

/** The options of `usage` that are filters, as `GET /admin/usage` has them. */
const FILTERS: [flags: string, description: string][] = [
  ['--account <name>', 'of this account'],
  ['--key <id>', 'of the key with this id'],
  ['--model <name>', 'of this model'],
  ['--group <name>', 'of this group'],
  ['--channel <name>', 'of this channel'],
  ['--protocol <name>', 'of this protocol'],
  ['--outcome <outcome>', 'ok, client, upstream, or attempt: an attempt that cost something and was not charged'],
  ['--attempts <with>', 'with or without the rows of such attempts (default: with)'],
  ['--from <time>', 'that arrived at this time or later'],
  ['--to <time>', 'that arrived before this time'],
]

interface UsageFlags extends Record<string, string | true | undefined> {
  config: string
  by?: string
  csv?: true
  jsonl?: true
  json?: true
  dryRun?: true
  yes?: true
}

function filtersOf({
  config: _,
  csv: _csv,
  jsonl: _jsonl,
  json: _json,
  requestId,
  ...rest
}: UsageFlags): Record<string, string> {
  const all = { ...rest, ...(requestId === undefined ? {} : { request_id: requestId }) }
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, String(value)]))
}

/** `group` makes a command that only has commands of its own. */
export function addUsageCommands(
  command: MakeCommand,
  group: (name: string, description: string) => MakeCommand,
): void {
  const usage = command('usage', 'show the newest requests, totals with --by, or export all with --csv or --jsonl')
  for (const [flags, description] of FILTERS) usage.option(flags, description)
  usage
    .option('--disputed <open>', 'open: whose upstream reported more than was charged, and nothing is decided')
    .option('--request-id <id>', 'the request with this id')
    .option('--limit <n>', 'how many are shown (default: 100)')
    .option('--after <id>', 'only those before the request with this id')
    .option('--by <names>', 'totals by some of day, hour, model, key, account, group, channel, protocol')
    .option('--zone <zone>', 'where days begin (default: the zone of the config)')
    .option('--csv', 'all rows as CSV')
    .option('--jsonl', 'all rows with their receipts, a JSON object a line')
    .option('--json', 'print JSON')
    .action(async (flags: UsageFlags) => {
      const { writeUsageFile, showUsage } = await import('./usage-commands.ts')
      const format = flags.csv ? 'csv' : flags.jsonl ? 'jsonl' : null
      const filters = filtersOf(flags)
      const shown = { json: flags.json === true, terminal: process.stdout.isTTY }
      if (format === null) say(await showUsage(flags.config, process.env, filters, shown))
      else await writeUsageFile(flags.config, process.env, filters, format, process.stdout)
    })
  group('requests', '')('show', 'print a request with what its charge is made of, or why it was refused')
    .argument('<id>', 'request id')
    .action(async (id: string, { config }: UsageFlags) => {
      const { showRequest } = await import('./usage-commands.ts')
      console.log(await showRequest(config, process.env, id))
    })
  group('rollups', 'the sums of usage')('rebuild', 'put sums right that are not what the rows come to')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: UsageFlags) => {
      const { rebuildRollups } = await import('./usage-commands.ts')
      say(await rebuildRollups(config, process.env, json === true))
    })
  command('prune', 'delete old usage rows; what they charged stays in the books')
    .requiredOption('--before <time>', 'rows of requests that arrived before it')
    .option('--dry-run', 'only say what would be deleted')
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action(async ({ config, before, dryRun, yes, json }: UsageFlags) => {
      const { judgePruning, pruneRows } = await import('./usage-commands.ts')
      judgePruning(String(before))
      if (dryRun !== true) await wantConfirmed('prune', String(before), yes === true)
      const how = { dryRun: dryRun === true, json: json === true }
      say(await pruneRows(config, process.env, String(before), how))
    })
}
