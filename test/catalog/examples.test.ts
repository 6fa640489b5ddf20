/** Examples of docs/upstreams.md lead to the addresses that the page names. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parseCatalog } from '../../lib/catalog/catalog.ts'
import { compileRoutes } from '../../lib/world/table.ts'

const PAGE = readFileSync(path.join(import.meta.dirname, '../../docs/upstreams.md'), 'utf8')

/** The channels of a section's example, by name, with the URL of each protocol. */
function addresses(section: string) {
  const text = PAGE.split(`### ${section}\n`)[1]?.split('\n### ')[0] ?? ''
  const yaml = text.split('```yaml\n')[1]?.split('```')[0] ?? ''
  const env = Object.fromEntries([...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name as string, 'key-1']))
  const { channels } = parseCatalog(yaml, 'upstreams.yaml', env)
  const named = compileRoutes({ channels }).channels.map(channel => [
    channel.name,
    Object.fromEntries(channel.protocols.map(one => [one, channel.connection.origin + channel.paths[one]])),
  ])
  return { text, urls: Object.fromEntries(named) as Record<string, Record<string, string>> }
}

t.test('coding plans', async t => {
  const { text, urls } = addresses('Coding plans')
  const rows = [...text.matchAll(/^\| .* \| `(https:.+?)` \| `(https:.+?)` \|$/gm)]
  t.same(
    Object.values(urls),
    rows.map(([, messages, chat]) => ({ messages, chat })),
  )
  t.same(Object.keys(urls), ['ark-plan', 'glm-plan', 'kimi-plan'])
})

t.test('servers of your own', async t => {
  const at = 'http://127.0.0.1:11434/v1'
  t.same(addresses('Servers of your own').urls, {
    ollama: { messages: `${at}/messages`, chat: `${at}/chat/completions`, responses: `${at}/responses` },
  })
})
