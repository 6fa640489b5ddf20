/** The options of `prices import`; `price-commands.ts` does what they say. */
import { type Command, Option } from 'commander'
import type { ListFormat } from '../operations/catalogue/price-import.ts'
import type { ImportFlags } from './price-commands.ts'
import { say, URL_HELP } from './output.ts'

type MakeCommand = (name: string, description: string) => Command

const FORCE = 'also what the rules of sense refuse'

const FORMATS = `
Formats (default: by the end of the file's name, .csv, .yaml or .yml for gateway, else litellm):
  litellm  LiteLLM's model_prices_and_context_window.json, in USD
  gateway  models with name and price, as in a catalogue file or as prices list --json prints them
  csv      a header line with "model" and names of prices as prices set takes them, then a line for each model

Each amount of the list is multiplied by rate and factor and rounded up at the sixth place. The price of a model
becomes what the list says; what the list does not name is taken away. Of LiteLLM's list, models of which
everything is free are skipped. When something in a list is wrong, nothing is imported.`

/** `command` makes one below the noun. */
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
