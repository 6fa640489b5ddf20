/** The commands that look after a store, and their options; `store-commands.ts` does what they say. */
import type { Command } from 'commander'
import { wantConfirmed, say } from './output.ts'

type MakeCommand = (name: string, description: string) => Command

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
