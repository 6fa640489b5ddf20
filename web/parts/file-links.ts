/** Links to what a page shows as files, which the browser saves. */
import { a, type Child, div, span } from '../base/element.ts'
import { icon } from '../base/icons.ts'
import { accountPath } from '../base/session.ts'

interface FileLink {
  text: string
  /** Behind the account's path. */
  call: string
  parameters: Record<string, string>
}

export const fileLinks = (title: string, files: readonly FileLink[]): Child =>
  div(
    { class: 'row files' },
    span({ class: 'soft' }, title),
    files.map(({ text, call, parameters }) =>
      a(
        {
          key: text,
          class: 'button small',
          href: `/console/api${accountPath()}/${call}?${new URLSearchParams(parameters)}`,
          download: '',
        },
        icon('download'),
        text,
      ),
    ),
  )
