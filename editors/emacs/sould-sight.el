;;; sould-sight.el --- Questions are seen whole before they are allowed  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; What an agent asks is written by models, repositories and servers: nothing in it may be out of sight when its user says yes.
;; Characters that print nothing have a mark in their place, and a question that is longer than its window is allowed only after
;; both its ends were shown.

;;; Code:

(require 'cl-lib)

(defvar-local sould-sight--spans #'ignore "Returns the open questions of this buffer: (ID BEGIN . END) each.")
(defvar-local sould-sight--seen nil "What was in sight: (ID LENGTH . END) each, END the symbol `first' or `last'.")

(defun sould-sight-safe (text)
  "TEXT with a mark like \\u202e for each character that prints nothing."
  (if (not (string-match-p "[^\n\t -~]" text))
      text
    (mapconcat (lambda (char) (if (sould-sight--prints-p char) (string char) (sould-sight--mark char))) text "")))

(defun sould-sight-line (text)
  "TEXT made safe, on one line."
  (string-replace "\t" " " (string-replace "\n" " ⏎ " (sould-sight-safe text))))

(defun sould-sight--prints-p (char)
  "Whether CHAR is visible, or a blank that everybody knows."
  (or (memq char '(?\n ?\t ?\s))
      (not (memq (get-char-code-property char 'general-category) '(Cc Cf Cs Co Cn Zs Zl Zp)))))

(defun sould-sight--mark (char)
  "What is shown in the place of CHAR."
  (format (if (> char #xffff) "\\U%08x" "\\u%04x") char))

;;;; What was in sight

(defun sould-sight-watch (spans)
  "Note in the current buffer which ends of questions were in sight.
SPANS returns those that are open, each as (ID BEGIN . END)."
  (setq sould-sight--spans spans)
  (add-hook 'pre-command-hook #'sould-sight--look nil t))

(defun sould-sight--look ()
  "Note what is in sight of the current buffer."
  (let ((spans (funcall sould-sight--spans)))
    (dolist (window (get-buffer-window-list nil nil t))
      (pcase-dolist (`(,id ,begin . ,end) spans)
        (when (pos-visible-in-window-p begin window)
          (sould-sight--note id begin end 'first))
        (when (pos-visible-in-window-p (1- end) window)
          (sould-sight--note id begin end 'last))))))

(defun sould-sight--note (id begin end which)
  "The end WHICH of the question ID, from BEGIN to END, was in sight."
  (cl-pushnew (cl-list* id (- end begin) which) sould-sight--seen :test #'equal))

(defun sould-sight-need (id)
  "Signal `user-error' unless all of the question ID was in sight.
If its beginning was not, go there."
  (sould-sight--look)
  (pcase-let* ((`(,_ ,begin . ,end) (assoc id (funcall sould-sight--spans)))
               (seen (lambda (which) (member (cl-list* id (- end begin) which) sould-sight--seen))))
    (unless (funcall seen 'first)
      (when-let ((window (get-buffer-window)))
        (with-selected-window window
          (goto-char begin)
          (recenter 0)))
      (user-error "It begins here: read it to its end, then allow it"))
    (unless (funcall seen 'last)
      (user-error "It goes on below: read it to its end, then allow it"))))

(provide 'sould-sight)
;;; sould-sight.el ends here
