/** Every page of the console has a picture in the docs, of a size that a repository bears. `npm run screens` makes them. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { PAGES } from '../../web/shared/sitemap.ts'
import { SCREEN_BYTES, SCREENS } from './support/screens.ts'

t.test('pages and pictures', async t => {
  for (const { name } of PAGES) {
    const file = path.join(SCREENS, `${name}.png`)
    if (t.ok(existsSync(file), `${name} has a picture`)) t.ok(statSync(file).size <= SCREEN_BYTES, `${name} is small`)
  }
  t.same(readdirSync(SCREENS).sort(), PAGES.map(({ name }) => `${name}.png`).sort(), 'and nothing else is there')
})
