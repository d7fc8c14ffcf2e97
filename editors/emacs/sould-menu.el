;;; sould-menu.el --- All commands of sould in one menu  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A transient menu.  It binds no key outside itself.

;;; Code:

(require 'transient)
(require 'sould-review)

(defun sould-menu--title ()
  "What the menu begins with: how much is to be reviewed."
  (let* ((project (ignore-errors (sould-project-current)))
         (count (if project (length (sould-project-hunks project)) 0)))
    (format "Review: %s" (cond ((null project) "not connected here")
                               ((= count 0) "nothing is pending")
                               (t (format "%d hunk%s pending, %d in this buffer" count (if (= count 1) "" "s")
                                          sould-hunks-count))))))

;;;###autoload (autoload 'sould-menu "sould-menu" nil t)
(transient-define-prefix sould-menu ()
  "All commands of sould."
  [:description sould-menu--title
   ["Hunk"
    ("n" "next" sould-next-hunk :transient t)
    ("p" "previous" sould-previous-hunk :transient t)
    ("k" "keep" sould-keep :transient t)
    ("r" "reject" sould-reject :transient t)
    ("u" "take back the last decision" sould-undo :transient t)]
   ["File and project"
    ("K" "keep this file" sould-keep-file)
    ("R" "reject this file" sould-reject-file)
    ("A" "keep all" sould-keep-all)
    ("D" "reject all" sould-reject-all)
    ("v" "show all as a diff" sould-review)]
   ["Comments"
    ("m" "comment here" sould-comment)
    ("M" "send all comments" sould-send-comments)]]
  [["Agent"
    ("a" "ask" sould-prompt)
    ("c" "chat" sould-chat)
    ("t" "say something while it works" sould-steer)
    ("x" "stop it" sould-cancel)
    ("S" "another session" sould-switch-session)
    ("o" "mode" sould-set-mode)
    ("l" "model" sould-set-model)]
   ["Waiting for you"
    ("i" "inbox" sould-inbox)]
   ["Help"
    ("h" "manual" sould-manual)]])

(declare-function sould-prompt "sould-chat")
(declare-function sould-chat "sould-chat")
(declare-function sould-steer "sould-chat")
(declare-function sould-cancel "sould-chat")
(declare-function sould-switch-session "sould-chat")
(declare-function sould-set-mode "sould-chat")
(declare-function sould-set-model "sould-chat")
(declare-function sould-inbox "sould-inbox")
(declare-function sould-manual "sould")
(declare-function sould-review "sould-diff")

(provide 'sould-menu)
;;; sould-menu.el ends here
