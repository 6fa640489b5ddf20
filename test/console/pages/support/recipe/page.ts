/** How many letters the name of the account has. */
import { get } from '../../../../../web/base/ask.ts'
import { p } from '../../../../../web/base/element.ts'
import { load } from '../../../../../web/base/load.ts'
import type { View } from '../../../../../web/base/page.ts'
import { accountPath } from '../../../../../web/base/session.ts'
import { words } from '../../../../../web/base/words.ts'
import { whenLoaded } from '../../../../../web/parts/state.ts'
import type { LettersAnswer } from '../../../recipe/operation.ts'

const w = words({ letters: [(count: number) => `${count} 个字母`, (count: number) => `${count} letters`] })

export default function letters(): View {
  const loaded = load(() => get<LettersAnswer>(`${accountPath()}/letters`))
  return () => whenLoaded(loaded, value => p({}, w.letters(value.letters)))
}
